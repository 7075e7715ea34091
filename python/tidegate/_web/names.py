"""Names of places: the keys of limits as text that are given no name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._errors import LimitError
from .._tidegate import _APP as APP
from .._tidegate import _route_name as route_name
from .._tidegate import _template as template

if TYPE_CHECKING:
    from .guard import Guard

__all__ = ["APP", "check_together", "route_name", "template"]


def check_together(guards: Iterable[tuple[Guard[Any], str]]) -> None:
    """Raises for limits of one route, each with the name of its place, that no decision could take together."""
    seen: list[tuple[Guard[Any], str]] = []
    for guard, place in guards:
        for other, elsewhere in seen:
            found = other.differing(elsewhere, guard, place)
            if found is not None:
                message = f"two limits of {place} have the key {found[0].key!r}: {found[0]!r} and {found[1]!r}"
                raise LimitError(f"{message}; give one of them a name", found[0].key, "name", repr(found[1]))
        seen.append((guard, place))
