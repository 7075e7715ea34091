"""Limits of places: the marks that decorators put on them, and those that are decided together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._errors import LimitError
from .._tidegate import Limit
from .guard import Guard


def check_together(guards: Iterable[tuple[Guard[Any], str]]) -> None:
    """Raises for limits of one route, each with the name of its place, that no decision could take together."""
    seen: dict[object, Limit] = {}
    for guard, place in guards:
        for limit in guard.definitions(place):
            # One key of two actors is two entries.
            first = seen.setdefault((guard.key, guard.key_name, limit.key), limit)
            if first != limit:
                message = f"two limits of {place} have the key {limit.key!r}: {first!r} and {limit!r}"
                raise LimitError(f"{message}; give one of them a name", limit.key, "name", repr(limit))


EXEMPT = object()
"""The mark of what is not limited; that of what is limited is a guard."""

# `functools.wraps` carries them to the outside of other decorators. An exemption has a name of its own: Django's
# `method_decorator` puts what the method has in place of what the decorator has put there under the same name.
NAME = "__tidegate_marks__"
EXEMPTIONS = "__tidegate_exemptions__"


def mark(owner: object, thing: object, new: object) -> None:
    """Puts a limit, or an exemption, on a view or what holds views."""
    name = EXEMPTIONS if new is EXEMPT else NAME
    setattr(thing, name, ((owner, new), *getattr(thing, name, ())))


def marks(owner: object, thing: object) -> list[object]:
    """The marks of one owner: an exemption, then the limits, the outermost first."""
    return [found for name in (EXEMPTIONS, NAME) for by, found in getattr(thing, name, ()) if by is owner]


def applying(outer: Sequence[object], inner: Sequence[object]) -> tuple[list[Guard[Any]], frozenset[Guard[Any]]]:
    """The limits of a view that are decided, of those around it and its own; and all of them, not to be asked later."""
    seen = frozenset(found for found in [*outer, *inner] if isinstance(found, Guard))
    applied = [] if EXEMPT in inner else [*(() if EXEMPT in outer else outer), *inner]
    guards = [found for found in applied if isinstance(found, Guard)]
    last = max((index for index, guard in enumerate(guards) if guard.override), default=0)
    return guards[last:], seen
