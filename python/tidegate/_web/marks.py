"""Limits that decorators put on views and on what views belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from .guard import Guard

__all__ = ["EXEMPT", "Mark", "applying", "mark", "marks"]


class Exemption:
    """The mark of what is not limited."""


EXEMPT = Exemption()

Mark: TypeAlias = "Guard[Any] | Exemption"

# `functools.wraps` carries it to the outside of other decorators.
NAME = "__tidegate_marks__"


def mark(owner: object, thing: object, new: Mark) -> None:
    """Puts a limit, or an exemption, on a view or what holds views."""
    setattr(thing, NAME, ((owner, new), *getattr(thing, NAME, ())))


def marks(owner: object, thing: object) -> list[Mark]:
    """The marks of one owner, the outermost first."""
    return [found for by, found in getattr(thing, NAME, ()) if by is owner]


def applying(outer: Sequence[Mark], inner: Sequence[Mark]) -> list[Guard[Any]]:
    """The limits of a view that are decided: those around it, and its own."""
    if EXEMPT in inner:
        return []
    guards = [found for found in [*(() if EXEMPT in outer else outer), *inner] if isinstance(found, Guard)]
    for index in range(len(guards) - 1, 0, -1):
        if guards[index].override:
            return guards[index:]
    return guards
