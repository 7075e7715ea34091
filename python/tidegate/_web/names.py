"""Names of places: the keys of limits as text that are given no name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._errors import LimitError
from .._tidegate import _APP as APP
from .._tidegate import Limit
from .._tidegate import _route_name as route_name
from .._tidegate import _template as template
from .guard import Guard

__all__ = ["APP", "check_together", "route_name", "template"]


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
