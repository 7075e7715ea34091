"""The options of one place that limits requests: a middleware, a route, a decorator."""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from .._errors import LimitError
from .._limits import Limits as Document
from .._limits import SelectedLimits
from .._tidegate import _CANDIDATE
from .actors import actor_of
from .definitions import Definitions, Written
from .failure import asked, asked_async
from .option_checks import charges_of, check_function, check_numbers, unknown_option

if sys.version_info >= (3, 11):
    from typing import TypedDict
else:
    # Python's own cannot be generic before.
    from typing_extensions import TypedDict

if TYPE_CHECKING:
    from .._tidegate import Limit, LimitInfo

__all__ = [
    "ASK",
    "Asked",
    "Given",
    "Guard",
    "GuardOptions",
    "LimitOptions",
    "Limits",
    "Part",
    "unknown_option",
]

R = TypeVar("R")
R_contra = TypeVar("R_contra", contravariant=True)
T = TypeVar("T")

Asked: TypeAlias = "tuple[Limit, str, int, float]"
"""A limit, its actor, the cost and the factor."""

Given: TypeAlias = "T | Awaitable[T]"
Limits: TypeAlias = (
    "Written | Sequence[Written] | Document | SelectedLimits | Callable[[R], Given[Written | Sequence[Written] | None]]"
)
"""A limit, a text, a list of them, a document or some of its limits, or a function of the request that returns a limit,
a text or a list; ``None`` limits nothing."""

# Limits that functions returned, kept compiled by what they returned.
MOST_CHOICES = 1024

# A key that is to be asked for, in place of its value.
ASK: Any = object()

_numbers = itertools.count(1)


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
    names several actors, and each of them is limited."""


class KnowsActors(Protocol[R_contra]):
    """The part of a room that a guard asks."""

    def client(self, request: R_contra) -> str: ...

    def actor(self, request: R_contra, name: str) -> str: ...

    def claim(self, guard: Guard[Any], name: str) -> bool: ...


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

    def observing(self, shadow: list[Asked] | None, candidate: list[Asked] | None) -> Part:
        """The same with checks that are decided beside, and never enforced."""
        self.shadow = shadow
        self.candidate = candidate
        self.is_planned = True
        return self


class Guard(Generic[R]):
    """Limits and the options that go with them, checked once."""

    __slots__ = (
        "_candidate",
        "_choices",
        "_document",
        "_is_plain",
        "_is_shadow",
        "_key",
        "_limits",
        "_shadow",
        "_skip",
        "_static",
        "asks",
        "charge_on",
        "cost",
        "derives",
        "factor",
        "has_cost",
        "holds",
        "is_async",
        "is_by_address",
        "key_name",
        "name",
        "number",
        "on_blocked",
        "override",
    )

    def __init__(
        self,
        limits: Limits[R],
        *,
        key: str | Callable[[R], Given[object]] | None = None,
        cost: int | Callable[[R], Given[int]] | None = None,
        factor: float | Callable[[R], Given[float]] | None = None,
        skip: Callable[[R], Given[bool]] | None = None,
        name: str | None = None,
        charge_on: Collection[int] | Callable[[Any], bool] | None = None,
        on_blocked: Callable[[R, LimitInfo], Any] | None = None,
        shadow: bool | Written | Sequence[Written] | None = None,
        candidate: Written | Sequence[Written] | None = None,
        override: bool = False,
        **unknown: object,
    ) -> None:
        if unknown:
            raise unknown_option(min(unknown), sorted(GuardOptions.__annotations__))
        if name is not None and not isinstance(name, str):
            raise LimitError(f"name must be text, got {name!r}", "", "name", repr(name))
        self.name = name
        self.number = next(_numbers)
        """Its own among all guards of this process."""
        self._limits = limits if callable(limits) else None
        self._document = limits if isinstance(limits, Document | SelectedLimits) else None
        """Limits that depend on the actor, and may change."""
        self._static = (
            None
            if callable(limits) or isinstance(limits, Document | SelectedLimits)
            else Definitions("limits", limits, name)
        )
        self._choices: dict[Any, Definitions] = {}
        # In shadow mode the limits keep their entries, so that they can be enforced later as they stand.
        self._is_shadow = shadow is True
        observed = None if shadow is None or isinstance(shadow, bool) else shadow
        self._shadow = None if observed is None else Definitions("shadow", observed, name, " shadow")
        self._candidate = None if candidate is None else Definitions("candidate", candidate, name, _CANDIDATE)
        self._key = None if isinstance(key, str) else check_function("key", key)
        self.key_name = key if isinstance(key, str) else "ip"
        self.cost: Any = 1 if cost is None else cost
        self.factor: Any = 1.0 if factor is None else factor
        self.has_cost = cost is not None
        self._skip = check_function("skip", skip)
        self.charge_on = charges_of(charge_on)
        self.on_blocked = check_function("on_blocked", on_blocked)
        self.override = override
        functions = [self._limits, self._key, self._skip, cost, factor]
        self.asks = self._document is not None or any(callable(function) for function in functions)
        self.is_async = any(_is_async(function) for function in functions)
        current = () if self._document is None else self.definitions("")
        self.holds = any(limit._holds for limit in current) or (self._static is not None and self._static.holds)
        """It has limits of type concurrency, as far as they are known without a request."""
        self._is_plain = not (self.asks or self._is_shadow or self._shadow or self._candidate or self.holds)
        self.is_by_address = self._is_plain and self.key_name == "ip"
        known = [definitions for definitions in (self._static, self._shadow, self._candidate) if definitions]
        self.derives = any(one.derives for one in known)
        """It has texts that are named by their place."""
        if self._is_shadow and candidate is not None:
            raise LimitError("candidate needs limits that are enforced beside it", "", "candidate", repr(candidate))
        if not isinstance(override, bool):
            raise LimitError(f"override must be True or False, got {override!r}", "", "override", repr(override))
        check_numbers(self.cost, self.factor, [*current, *(limit for one in known for limit in one.checked)])

    def part(self, request: R, room: KnowsActors[R], place: str, actor: object = ASK) -> Part | None:
        """The checks of a request, or ``None`` where it is not limited here.

        An ``actor`` that was found elsewhere, as by a dependency of the framework, stands for the value of the key.
        """
        if actor is ASK:
            if self._is_plain:
                # Nothing is asked for but who the client is.
                return self.part_of_limits(room.actor(request, self.key_name), self.definitions(place), place)
            if not self.asks:
                return self._made(request, room, place, None, None, self.cost, self.factor)
        if self.is_async:
            raise LimitError("a coroutine function needs an async view", "", "limits", "")
        if self._skip is not None and self._skip(request):
            return None
        chosen = self._limits and self._limits(request)
        key = (self._key and asked(self._key, request, "key")) if actor is ASK else actor
        cost = asked(self.cost, request, "unreadable") if callable(self.cost) else self.cost
        factor = self.factor(request) if callable(self.factor) else self.factor
        return self._made(request, room, place, chosen, key, cost, factor)

    def part_of_limits(self, actor: str, limits: Sequence[Limit], place: str) -> Part:
        """The checks of this actor, where no function has to be asked."""
        cost, factor = self.cost, self.factor
        if len(limits) == 1:
            return Part(self, [(limits[0], actor, cost, factor)], place)
        return Part(self, [(limit, actor, cost, factor) for limit in limits], place)

    async def part_async(self, request: R, room: KnowsActors[R], place: str, actor: object = ASK) -> Part | None:
        """The same where some of the functions are coroutine functions."""
        if self._skip is not None and await _awaited(self._skip(request)):
            return None
        limits = self._limits and await _awaited(self._limits(request))
        key = (self._key and await asked_async(self._key, request, "key")) if actor is ASK else actor
        cost = await asked_async(self.cost, request, "unreadable") if callable(self.cost) else self.cost
        factor = await _awaited(self.factor(request)) if callable(self.factor) else self.factor
        return self._made(request, room, place, limits, key, cost, factor)

    def _made(
        self, request: R, room: KnowsActors[R], place: str, chosen: Any, key: object, cost: Any, factor: Any
    ) -> Part | None:
        definitions = self._static
        if definitions is None and self._document is None:
            definitions = self._chosen(chosen)
            if definitions is None:
                return None
            if definitions.derives:
                room.claim(self, place)
        if key is None:
            actors = [room.actor(request, self.key_name)]
        elif isinstance(key, list | tuple):
            actors = [room.actor(request, "ip") if one is None else actor_of(one) for one in key]
        else:
            actors = [actor_of(key)]
        if definitions is not None:
            checks = [(limit, actor, cost, factor) for actor in actors for limit in definitions.of(place)]
            holds = definitions.holds
        else:
            checks = [
                (limit, actor, cost, factor if scale == 1 else factor * scale)
                for actor in actors
                for limit, scale in self._document._found(actor)  # type: ignore[union-attr]
            ]
            holds = any(check[0]._holds for check in checks)
        if not checks:
            return None
        if self._shadow is None and self._candidate is None:
            if self._is_shadow:
                return Part(self, [], place).observing(checks, None)
            part = Part(self, checks, place)
            part.is_planned = holds
            return part

        def beside(definitions: Definitions | None) -> list[Asked] | None:
            if definitions is None:
                return None
            return [(limit, actor, cost, factor) for actor in actors for limit in definitions.of(place)]

        return Part(self, checks, place).observing(beside(self._shadow), beside(self._candidate))

    def _chosen(self, chosen: Any) -> Definitions | None:
        """The limits that a function returned."""
        if chosen is None:
            return None
        seen: Any = chosen
        if isinstance(chosen, list):
            seen = tuple(chosen)
        try:
            known = self._choices.get(seen)
        except TypeError:
            # A mapping in the wire form has no hash.
            return Definitions("limits", chosen, self.name)
        if known is None:
            if len(self._choices) >= MOST_CHOICES:
                self._choices.clear()
            known = self._choices[seen] = Definitions("limits", chosen, self.name)
        return known

    def definitions(self, place: str) -> tuple[Limit, ...]:
        """The limits of a place, as far as they are known without a request."""
        if self._document is not None:
            return tuple(self._document.values())
        return () if self._static is None else self._static.of(place)

    @property
    def may_change(self) -> bool:
        """Its limits are those of a document."""
        return self._document is not None

    def differing(self, place: str, other: Guard[Any], elsewhere: str) -> tuple[Limit, Limit] | None:
        """Limits of two guards and places that cannot be decided together: two definitions of one key and actor."""
        if self._key is not other._key or self.key_name != other.key_name:
            return None
        return next(
            (
                (one, two)
                for one in self.definitions(place)
                for two in other.definitions(elsewhere)
                if one.key == two.key and one != two
            ),
            None,
        )

    def __repr__(self) -> str:
        return f"<Guard {self}>"

    def __str__(self) -> str:
        if self._document is not None:
            return ", ".join(self._document)
        return "a function" if self._static is None else str(self._static)


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _is_async(function: object) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
