"""The decisions about one request, each for all limits that apply, and their settlement."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

from .._aio import AsyncLimiter
from .._errors import ConfigurationError, LimitError, StoreError, refused
from .._hold import AsyncHeld
from .._http import Gate
from .._tidegate import Held, LimitInfo, _counted_twice, _Plan
from ..shadow import COUNTS
from .drive import run, value_of
from .failure import by_request
from .guard import Guard, Part
from .store import NO_LIMIT, Store

_log = logging.getLogger("tidegate")


async def decide(store: Store, parts: Sequence[Part], waits: bool) -> Decision:
    """Decides without blocking the event loop, or in the caller's thread. There is at least one part."""
    plan = None
    info = NO_LIMIT
    limiter = store.limiter(waits)
    try:
        checks: Sequence[Any] = parts[0].checks
        if len(parts) > 1 or parts[0].is_planned:
            plan = _Plan([(part.checks, part.shadow, part.candidate) for part in parts])
            checks = plan.checks
        if checks:
            # Behind the factor of a check that is not enforced the engine has put ``True``.
            is_one = len(checks) == 1 and len(checks[0]) < 5
            answer = limiter.limit(*checks[0]) if is_one else limiter.limit_all(checks)
            info = answer if isinstance(answer, LimitInfo) else await answer
    except LimitError as error:
        if any(part.shadow or part.candidate for part in parts):
            # What is only tried fails no request, and nothing is charged yet. What is enforced is asked for again.
            for part in parts:
                part.shadow = part.candidate = None
            return await decide(store, parts, waits)
        raise by_request(error, any(callable(part.guard.cost) for part in parts)) from error.__cause__
    except StoreError:
        # A store that fails fails no request where nothing is enforced.
        if plan is None or plan.enforces:
            raise
        return Decision(store, parts, NO_LIMIT, plan)
    decision = Decision(store, parts, info, plan)
    if plan is not None and any(part.shadow or part.candidate for part in parts):
        denials = [(parts[place].guard, denial) for place, denial in plan.count(info, COUNTS)]
        decision.shadowed = [(guard, denial) for guard, denial in denials if guard.on_blocked is not None]
    if decision.holds:
        if decision.blocked:
            await decision.end(waits)
        elif isinstance(limiter, AsyncLimiter):
            decision.held, decision.loop = AsyncHeld._of(limiter, info), asyncio.get_running_loop()
        else:
            decision.held = Held._of(limiter, info)
    return decision


class Decision:
    """The answer to one request, and what it charged."""

    # Every request makes one: what few of them have is the class's until then.
    shadowed: Sequence[tuple[Guard[Any], LimitInfo]] = ()
    """Denials of limits in shadow mode, of guards that want to know of them."""
    held: Held | AsyncHeld | None = None
    """The renewal of units of limits of type concurrency, until the request has ended."""
    loop: asyncio.AbstractEventLoop | None = None
    """The event loop that renews them, where it is one."""

    def __init__(self, store: Store, parts: Sequence[Part], receipt: LimitInfo, plan: _Plan | None = None) -> None:
        self.store = store
        self.parts = parts
        self.receipt = receipt
        """The answer of the call, which names its charges."""
        enforced = receipt if plan is None else plan.answer(receipt)
        self.info: LimitInfo = NO_LIMIT if enforced is None else enforced
        """The answer of all limits that are enforced."""
        self.blocked = self.info.blocked
        # None where one part was asked for as it is.
        self._plan = plan
        self._is_settled = receipt is NO_LIMIT
        self.holds = plan is not None and not self._is_settled and plan.lease(receipt) is not None
        """It took units of limits of type concurrency, which are released when the request has ended."""

    @property
    def deciding(self) -> Part:
        """The part whose limit decides."""
        place = None if self._plan is None else self._plan.deciding(self.receipt)
        return self.parts[place or 0]

    async def tell_shadowed(self, request: Any) -> None:
        """Calls ``on_blocked`` for denials of limits in shadow mode. What it returns has no effect."""
        for guard, info in self.shadowed:
            await value_of(guard.on_blocked(request, info))

    async def response(self, request: Any) -> Any:
        """The response that ``on_blocked`` makes to a denied request, ``None`` where there is none."""
        on_blocked = self.deciding.guard.on_blocked
        return None if on_blocked is None else await value_of(on_blocked(request, self.info))

    def answer(self, guard: Guard[Any]) -> LimitInfo | None:
        """The answer of one guard's limits; ``None`` where it limits nothing."""
        for place, part in enumerate(self.parts):
            if part.guard is guard:
                if self._plan is None or self.receipt is NO_LIMIT:
                    return self.info
                return self._plan.answer(self.receipt, place)
        return None

    def settlement(self) -> list[int] | None:
        """The costs that the checks of the receipt really had. They are named once."""
        if self._is_settled or not (self.holds or any(part.refunded or part.actual is not None for part in self.parts)):
            return None
        self._is_settled = True
        if self.receipt.blocked and not self.holds:
            return None
        paid = [0 if part.refunded else part.actual for part in self.parts]
        if self._plan is not None:
            return self._plan.costs(paid)
        return [check[2] if paid[0] is None else paid[0] for check in self.parts[0].checks]

    async def end(self, waits: bool) -> None:
        """Settles, once. A store that cannot is logged: the response is not at fault."""
        is_here = waits or self.loop is None
        if not is_here and self.loop is not None and self.loop.is_running():
            asyncio.run_coroutine_threadsafe(self.end(True), self.loop)
            return
        costs = self.settlement()
        if costs is None:
            return
        try:
            if self.held is not None and is_here:
                self.held.settle(costs)
                await value_of(self.held.release())
            else:
                receipt = self.receipt if self.held is None else self.held._receipt
                await value_of(self.store.limiter(waits).settle(receipt, costs))
        except StoreError as error:
            _log.warning("a request could not be settled: %s", error)


class Record:
    """The room of a request, and what was decided."""

    # Every request makes one: what few of them have is the class's until then.
    waits = False
    """A limit is charged by the response, or was given an actual cost."""
    is_judged = False
    """It is known what the response is not charged for."""

    def __init__(self, room: Any) -> None:
        self.room = room
        self.gate: Gate = room.gate
        """That of the outermost instance of a middleware, which carries the headers."""
        self._decisions: list[Decision] = []

    @property
    def decisions(self) -> list[Decision]:
        """The decisions, in the order in which they were made."""
        return self._decisions

    def parts(self) -> Iterator[Part]:
        return (part for decision in self.decisions for part in decision.parts)

    def add(self, decision: Decision) -> None:
        """Keeps a decision; the headers show it, and the end of the response settles it."""
        decisions = self.decisions
        if decisions and decision.blocked:
            # All or nothing: what the outer limits charged is given back.
            for part in self.parts():
                part.refunded = True
            self.waits = True
        elif decisions and (twice := self._counted_twice(decision)) is not None:
            self.room.gate.report("counted-twice", repr(twice))
        decisions.append(decision)
        if decision.blocked:
            self.room.tell_denied(decision)
        elif decision.holds:
            self.waits = True
        else:
            for part in decision.parts:
                if part.guard.charge_on is not None:
                    self.waits = True

    def _counted_twice(self, newest: Decision) -> str | None:
        """The key of a limit that another instance has already charged this actor for."""
        made = [one for one in (*self.decisions, newest) if one.receipt is not NO_LIMIT]
        return _counted_twice([(one.store.limiter(False), one.receipt) for one in made])

    @property
    def infos(self) -> LimitInfo | list[LimitInfo]:
        """The answers that headers are made of."""
        decisions = self.decisions
        return decisions[0].info if len(decisions) == 1 else [decision.info for decision in decisions]

    def lacking(self, fields: Container[object], status: int) -> list[tuple[str, str]]:
        """The fields of a refusal that a response to a denied request lacks. A redirection needs none."""
        if 300 <= status < 400 or ("Retry-After" in fields and "Cache-Control" in fields):
            return []
        found = self.gate.refusal(self.infos).headers
        return [(name, value) for name, value in found if name not in fields and not name.startswith("Content-")]

    @property
    def latest(self) -> LimitInfo | None:
        """The latest answer, ``None`` where nothing limited the request."""
        return self.decisions[-1].info if self.decisions else None

    def settle(self, cost: int, guard: Guard[Any] | None = None) -> bool:
        """Notes the actual cost, for ``end``: of one guard, or of all that were given a cost; false where none was."""
        parts = [part for part in self.parts() if part.guard is guard or (guard is None and part.guard.has_cost)]
        if self.decisions and (isinstance(cost, bool) or not isinstance(cost, int) or cost < 0):
            raise refused("cost", "must be a whole number and at least 0", cost)
        for part in parts:
            part.actual = cost
        self.waits = self.waits or bool(parts)
        return bool(parts)

    def judge(self, status: int, response: Any) -> None:
        """Notes what this response is not charged for."""
        self.is_judged = True
        if not self.waits:
            return
        for part in self.parts():
            charges = part.guard.charge_on
            part.refunded = (charges is not None and not _is_charged(charges, status, response)) or part.refunded

    async def end(self, waits: bool) -> None:
        """Settles what is known by now, without blocking the event loop or in the caller's thread."""
        if self.waits:
            for decision in self.decisions:
                await decision.end(waits)

    def close(self) -> None:
        """Settles in the caller's thread what is known by now."""
        if self.waits:
            run(self.end(False))


def _is_charged(charges: Callable[[int, Any], bool], status: int, response: Any) -> bool:
    """The verdict on a response. If a predicate fails, the charge stays: the response is not at fault."""
    try:
        return charges(status, response)
    except Exception:
        _log.exception("charge_on has failed, so the charge stays")
        return True


def unreleased(middleware: str) -> ConfigurationError:
    """The error for units that nothing would release."""
    return ConfigurationError(f"limits of type concurrency need {middleware}, which releases what a request holds")
