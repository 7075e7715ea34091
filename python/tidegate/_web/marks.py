"""Limits that decorators put on views and on what views belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from .guard import Guard


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


def applying(outer: Sequence[Mark], inner: Sequence[Mark]) -> tuple[list[Guard[Any]], frozenset[Guard[Any]]]:
    """The limits of a view that are decided, of those around it and its own; and all of them, not to be asked later."""
    seen = frozenset(found for found in [*outer, *inner] if isinstance(found, Guard))
    applied = [] if EXEMPT in inner else [*(() if EXEMPT in outer else outer), *inner]
    guards = [found for found in applied if isinstance(found, Guard)]
    last = max((index for index, guard in enumerate(guards) if guard.override), default=0)
    return guards[last:], seen
