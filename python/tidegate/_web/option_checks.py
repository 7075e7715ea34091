"""The options of limits, checked when they are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from .._errors import LimitError
from .._tidegate import Limit, Limiter

# Tells of a cost or a factor that a limit can never take; nothing is charged in it.
_TRIAL = Limiter(max_entries=1)


def check_numbers(cost: Any, factor: Any, limits: Sequence[Limit]) -> None:
    """Raises for a cost or a factor with which every request would be an error."""
    if not callable(cost):
        if isinstance(cost, bool) or not isinstance(cost, int):
            raise LimitError(f"cost must be a whole number or a function, got {cost!r}", "", "cost", repr(cost))
        if cost < 0:
            raise LimitError(f"cost must be at least 0, got {cost!r}", "", "cost", repr(cost))
    if callable(factor):
        return
    if isinstance(factor, bool) or not isinstance(factor, int | float):
        raise LimitError(f"factor must be a number or a function, got {factor!r}", "", "factor", repr(factor))
    if not 0 <= factor < math.inf:
        raise LimitError(f"factor must be at least 0 and finite, got {factor!r}", "", "factor", repr(factor))
    for limit in limits:
        # A function's cost is not known yet, and 0 fits always.
        _TRIAL.peek(limit, "", 0 if callable(cost) else cost, factor)


def unknown_option(name: str, known: Sequence[str]) -> LimitError:
    """The error for an option that there is not."""
    return LimitError(f"{name} is not an option, which are: {', '.join(known)}", "", name, "")


def check_function(field: str, given: Any) -> Any:
    if given is not None and not callable(given):
        raise LimitError(f"{field} must be a function, got {given!r}", "", field, repr(given))
    return given


def charges_of(given: Any) -> Callable[[int, Any], bool] | None:
    """A predicate of a status and its response."""
    if given is None:
        return None
    if callable(given):
        predicate: Callable[[Any], bool] = given
        return lambda _status, response: predicate(response)
    statuses = frozenset(given) if isinstance(given, Collection) and not isinstance(given, str | bytes) else None
    if not statuses or not all(isinstance(status, int) and 100 <= status <= 599 for status in statuses):
        wanted = "a function of the response or the statuses that are charged"
        raise LimitError(f"charge_on must be {wanted}, got {given!r}", "", "charge_on", repr(given))
    return lambda status, _response: status in statuses
