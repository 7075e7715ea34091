"""The options of one place that limits requests: a middleware, a route, a decorator. They are checked once."""

from __future__ import annotations

import inspect
import itertools
import math
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, Generic, TypeAlias, TypeVar

from .._errors import LimitError, refused
from .._limits import Limits as Document
from .._limits import SelectedLimits
from .._tidegate import _CANDIDATE, Limit, Limiter, LimitInfo
from .definitions import Asked, Definitions, Documented, Known, Written

if sys.version_info >= (3, 11):
    from typing import TypedDict, Unpack
else:
    # Python's own cannot be generic before.
    from typing_extensions import TypedDict, Unpack

__all__ = ["ASK", "Given", "Guard", "GuardOptions", "LimitOptions", "Limits", "Part", "Unpack", "check_names"]

R = TypeVar("R")
T = TypeVar("T")

Given: TypeAlias = "T | Awaitable[T]"
Limits: TypeAlias = (
    "Written | Sequence[Written] | Document | SelectedLimits | Callable[[R], Given[Written | Sequence[Written] | None]]"
)
"""A limit, a text, a list of them, a document or some of its limits, or a function of the request that returns a limit,
a text or a list; ``None`` or an empty list limits nothing."""

# Limits that functions returned, kept compiled by what they returned.
MOST_CHOICES = 1024

# A key that is to be asked for, in place of its value.
ASK: Any = object()

_numbers = itertools.count(1)

# Tells of a cost or a factor that a limit can never take; nothing is charged in it.
_TRIAL = Limiter(max_entries=1)


class LimitOptions(TypedDict, Generic[R], total=False):
    """Options of every place that limits requests, beside its key."""

    cost: int | Callable[[R], Given[int]] | None
    """Units that one request takes."""
    factor: float | Callable[[R], Given[float]] | None
    """Scale of the limits for this request: 0.5 = twice the allowance, 0 = no limit."""
    skip: Callable[[R], Given[bool]] | None
    """True for requests that are not limited."""
    name: str | None
    """The key of limits that are given as text, in place of the name of their place: ``"GET /users/{id}"`` of a route,
    ``"app"`` of an application. Places with one name share them."""
    charge_on: Collection[int] | Callable[[Any], bool] | None
    """Statuses, or a predicate of the response: any other response gives the charge back."""
    on_blocked: Callable[[R, LimitInfo], Any] | None
    """Makes the response to a denied request. It is called for denials of limits in shadow mode too, whose
    ``info.observed`` is true; what it returns has no effect then."""
    shadow: bool | Written | Sequence[Written] | None
    """Limits that are decided and counted, but never enforced; ``True`` puts these limits into shadow mode."""
    candidate: Written | Sequence[Written] | None
    """Limits that might replace these, decided beside them and counted where the two differ."""
    override: bool
    """Replaces the limits of outer places instead of adding to them."""


class GuardOptions(LimitOptions[R], total=False):
    """Options of every place that limits requests."""

    key: str | Callable[[R], Given[object]] | None
    """The actor: a function of the request, ``"ip"`` (the default), ``"header:NAME"``, or a name that the
    framework adds, such as ``"user"``. Where the function returns ``None``, the client's address is limited. A list
    names several actors, at least one, and each of them is limited."""


class Part:
    """The checks of one guard in the decision of one request."""

    # Every request makes one: what few of them have is the class's until then.
    shadow: list[Asked] | None = None
    candidate: list[Asked] | None = None
    is_planned = False
    """It has checks that are decided beside the others, or that hold units: the engine's plan says what those mean."""
    actual: int | None = None
    """The cost that ``settle`` was given."""
    refunded = False

    def __init__(self, guard: Guard[Any], checks: list[Asked], place: str) -> None:
        self.guard = guard
        self.checks = checks
        self.place = place
        """The name of the route or the application that is limited."""


class Guard(Generic[R]):
    """Limits and the options that go with them, checked once."""

    def __init__(self, limits: Limits[R], **options: Unpack[GuardOptions[R]]) -> None:
        check_names(options, sorted(GuardOptions.__annotations__))
        self.name = options.get("name")
        if self.name is not None and not isinstance(self.name, str):
            raise refused("name", "must be text", self.name)
        self.number = next(_numbers)
        """Its own among all guards of this process."""
        self.limits = limits if callable(limits) else None
        self.may_change = isinstance(limits, Document | SelectedLimits)
        """Its limits are those of a document."""
        self.static: Known | None = None
        """The limits that are known without a request."""
        if isinstance(limits, Document | SelectedLimits):
            self.static = Documented(limits)
        elif not callable(limits):
            self.static = Definitions("limits", limits, self.name)
        self._choices = lru_cache(MOST_CHOICES)(partial(Definitions, "limits", name=self.name))
        shadow, candidate = options.get("shadow"), options.get("candidate")
        # In shadow mode the limits keep their entries, so that they can be enforced later as they stand.
        self.is_shadow = shadow is True
        observed = None if isinstance(shadow, bool) else shadow
        self.shadow = None if observed is None else Definitions("shadow", observed, self.name, " shadow")
        beside = self._only_key() or self.name
        self.candidate = None if candidate is None else Definitions("candidate", candidate, beside, _CANDIDATE)
        key, cost, factor = options.get("key"), options.get("cost"), options.get("factor")
        self.key = None if isinstance(key, str) else _check_function("key", key)
        self.key_name = key if isinstance(key, str) else "ip"
        self.cost: Any = 1 if cost is None else cost
        self.factor: Any = 1.0 if factor is None else factor
        self.has_cost = cost is not None
        self.skip = _check_function("skip", options.get("skip"))
        self.charge_on = _charges_of(options.get("charge_on"))
        self.on_blocked = _check_function("on_blocked", options.get("on_blocked"))
        self.override = override = options.get("override", False)
        functions = [self.limits, self.key, self.skip, cost, factor]
        self.is_async = any(_is_async(function) for function in [*functions, self.on_blocked])
        self.holds = self.static is not None and self.static.holds
        """It has limits of type concurrency, as far as they are known without a request."""
        known = [one for one in (self.static, self.shadow, self.candidate) if one is not None]
        asks = any(callable(function) for function in functions)
        self.is_plain = len(known) == 1 and not (asks or self.is_shadow or self.holds or self.may_change)
        """Nothing is to be asked for but the actor, and nothing is decided beside."""
        self.is_by_address = self.is_plain and self.key_name == "ip"
        self.has_texts = any(one.has_texts for one in known)
        self.derives = any(one.derives for one in known)
        """It has texts that are named by their place."""
        if self.is_shadow and candidate is not None:
            raise LimitError("candidate needs limits that are enforced beside it", "", "candidate", repr(candidate))
        if not isinstance(override, bool):
            raise refused("override", "must be True or False", override)
        _check_numbers(self.cost, self.factor, [limit for one in known for limit in one.checked])

    def _only_key(self) -> str | None:
        """The key of the only limit, which a candidate as text may replace; none that a place names."""
        static = self.static
        if isinstance(static, Definitions) and not static.derives and len(static.checked) == 1:
            return static.checked[0].key
        return None

    def plain(self, actor: str, place: str) -> Part:
        """The checks of an actor where nothing else is to be asked for."""
        assert self.static is not None
        return Part(self, self.static.checks(place, actor, self.cost, self.factor), place)

    def chosen(self, chosen: Any) -> Definitions | None:
        """The limits that a function returned; ``None`` where that is ``None`` or an empty list."""
        if chosen is None or (isinstance(chosen, list | tuple) and not chosen):
            return None
        try:
            return self._choices(tuple(chosen) if isinstance(chosen, list) else chosen)
        except TypeError:
            # A mapping in the wire form has no hash.
            return Definitions("limits", chosen, self.name)

    def definitions(self, place: str) -> tuple[Limit, ...]:
        """The limits of a place, as far as they are known without a request."""
        return () if self.static is None else self.static.of(place)

    def known(self, place: str, actor: str) -> list[Asked]:
        """The checks of an actor at a place, as far as they are known without a request."""
        return [] if self.static is None else self.static.checks(place, actor, 1, 1.0)

    def __str__(self) -> str:
        return "a function" if self.static is None else str(self.static)


def _is_async(function: object) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _check_numbers(cost: Any, factor: Any, limits: Sequence[Limit]) -> None:
    """Raises for a cost or a factor with which every request would be an error."""
    if not callable(cost):
        if isinstance(cost, bool) or not isinstance(cost, int):
            raise refused("cost", "must be a whole number or a function", cost)
        if cost < 0:
            raise refused("cost", "must be at least 0", cost)
    if callable(factor):
        return
    if isinstance(factor, bool) or not isinstance(factor, int | float):
        raise refused("factor", "must be a number or a function", factor)
    if not 0 <= factor < math.inf:
        raise refused("factor", "must be at least 0 and finite", factor)
    for limit in limits:
        # A function's cost is not known yet, and 0 fits always.
        _TRIAL.peek(limit, "", 0 if callable(cost) else cost, factor)


def check_names(given: Iterable[str], known: Sequence[str]) -> None:
    """Raises for an option that there is not."""
    unknown = set(given).difference(known)
    if unknown:
        name = min(unknown)
        raise LimitError(f"{name} is not an option, which are: {', '.join(known)}", "", name, "")


def _check_function(field: str, given: Any) -> Any:
    if given is not None and not callable(given):
        raise refused(field, "must be a function", given)
    return given


def _charges_of(given: Any) -> Callable[[int, Any], bool] | None:
    """A predicate of a status and its response."""
    if given is None:
        return None
    if callable(given) and not _is_async(given):
        return lambda _status, response: given(response)
    statuses = frozenset(given) if isinstance(given, Collection) and not isinstance(given, str | bytes) else None
    if not statuses or not all(isinstance(status, int) and 100 <= status <= 599 for status in statuses):
        wanted = "a function of the response or the statuses that are charged"
        got = "a coroutine function" if callable(given) else repr(given)
        raise LimitError(f"charge_on must be {wanted}, got {got}", "", "charge_on", got)
    return lambda status, _response: status in statuses
