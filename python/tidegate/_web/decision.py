"""One decision per request for all limits that apply, and its settlement."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._errors import LimitError, StoreError, TidegateError
from .._tidegate import LimitInfo, _Plan
from ..shadow import count_candidate, count_shadow
from .failure import by_request
from .guard import Guard, Part
from .store import Store

if TYPE_CHECKING:
    from .._hold import Held
    from .._hold_async import AsyncHeld

__all__ = ["NO_LIMIT", "Decision", "decide", "decide_async"]

# The engine's own answer where there is no limit.
NO_LIMIT = LimitInfo(remaining=2**53 - 1, quota=2**53 - 1)

_log = logging.getLogger("tidegate")


def decide(store: Store, parts: Sequence[Part]) -> Decision:
    """Decides in the caller's thread. There is at least one part."""
    plan = None
    try:
        plan = _planned(parts)
        checks = parts[0].checks if plan is None else plan.checks
        info = store.decide(checks) if checks else NO_LIMIT
    except TidegateError as error:
        return _undecided(store, parts, plan, error)
    decision = Decision(store, parts, info, plan)
    if plan is not None:
        decision.count(plan)
        if decision.holds:
            if decision.blocked:
                decision.close()
            else:
                decision.held = store.hold(info)
    return decision


async def decide_async(store: Store, parts: Sequence[Part]) -> Decision:
    """Decides without blocking the event loop."""
    if not store.shared:
        return decide(store, parts)
    plan = None
    try:
        plan = _planned(parts)
        checks = parts[0].checks if plan is None else plan.checks
        info = await store.decide_async(checks) if checks else NO_LIMIT
    except TidegateError as error:
        return _undecided(store, parts, plan, error)
    decision = Decision(store, parts, info, plan)
    if plan is not None:
        decision.count(plan)
        if decision.holds:
            if decision.blocked:
                await decision.close_async()
            else:
                decision.held, decision.loop = store.hold_async(info), asyncio.get_running_loop()
    return decision


def _planned(parts: Sequence[Part]) -> _Plan | None:
    """The plan of a request, where it is more than the checks of its only part."""
    if len(parts) == 1 and not parts[0].is_planned:
        return None
    return _Plan([(part.checks, part.shadow, part.candidate) for part in parts])


def _undecided(store: Store, parts: Sequence[Part], plan: _Plan | None, error: TidegateError) -> Decision:
    """The decision where nothing is enforced, so that a store that fails fails no request; else raises."""
    if isinstance(error, LimitError):
        raise by_request(error, any(callable(part.guard.cost) for part in parts)) from error.__cause__
    if plan is None or plan.enforces or not isinstance(error, StoreError):
        raise error
    return Decision(store, parts, NO_LIMIT, plan)


class Decision:
    """The answer to one request, and what it charged."""

    def __init__(self, store: Store, parts: Sequence[Part], receipt: LimitInfo, plan: _Plan | None = None) -> None:
        self.store = store
        self.parts = parts
        self.receipt = receipt
        """The answer of the call, which names its charges."""
        enforced = receipt if plan is None else plan.answer(receipt)
        self.info: LimitInfo = NO_LIMIT if enforced is None else enforced
        """The answer of all limits that are enforced."""
        self.blocked = self.info.blocked
        self.shadowed: list[tuple[Guard[Any], LimitInfo]] = []
        """Denials of limits in shadow mode, of guards that want to know of them."""
        # None where one part was asked for as it is.
        self._plan = plan
        self._is_settled = receipt is NO_LIMIT
        self.holds = plan is not None and not self._is_settled and plan.lease(receipt) is not None
        """It took units of limits of type concurrency, which are released when the request has ended."""
        self.held: Held | AsyncHeld | None = None
        """The renewal of these units meanwhile."""
        self.loop: asyncio.AbstractEventLoop | None = None
        """The event loop that does, where it is one."""

    def count(self, plan: _Plan) -> None:
        """Counts what is tried."""
        if not any(part.shadow or part.candidate for part in self.parts):
            return
        for place, key, live, denied, info in plan.trials(self.receipt):
            if live is not None:
                count_candidate(key, live, denied)
                continue
            count_shadow(key, denied)
            guard = self.parts[place].guard
            if info is not None and guard.on_blocked is not None:
                self.shadowed.append((guard, info))

    @property
    def deciding(self) -> Part:
        """The part whose limit decides."""
        place = None if self._plan is None else self._plan.deciding(self.receipt)
        return self.parts[place or 0]

    def answer(self, guard: Guard[Any]) -> LimitInfo | None:
        """The answer of one guard's limits; ``None`` where it limits nothing."""
        for place, part in enumerate(self.parts):
            if part.guard is guard:
                if self._plan is None or self.receipt is NO_LIMIT:
                    return self.info
                return self._plan.answer(self.receipt, place)
        return None

    def settle(self, cost: int, guard: Guard[Any] | None = None) -> bool:
        """Notes the actual cost, for ``close``: of one guard, or of all that were given a cost."""
        if isinstance(cost, bool) or not isinstance(cost, int) or cost < 0:
            raise LimitError(f"cost must be a whole number and at least 0, got {cost!r}", "", "cost", repr(cost))
        found = False
        for part in self.parts:
            if part.guard is guard or (guard is None and part.guard.has_cost):
                part.actual = cost
                found = True
        return found

    def refund(self, guard: Guard[Any] | None = None) -> None:
        """Notes that the charges of one guard, or of all, are given back, for ``close``."""
        for part in self.parts:
            part.refunded = part.refunded or guard is None or part.guard is guard

    def judge(self, status: int, response: Any) -> None:
        """Notes what this response is not charged for."""
        for part in self.parts:
            charges = part.guard.charge_on
            if charges is not None and not charges(status, response):
                part.refunded = True

    @property
    def is_open(self) -> bool:
        """There is something to settle."""
        return not self._is_settled and (
            self.holds or any(part.refunded or part.actual is not None for part in self.parts)
        )

    def settlement(self) -> list[int] | None:
        """The costs that the checks of the receipt really had. They are named once."""
        if not self.is_open:
            return None
        self._is_settled = True
        if self.receipt.blocked and not self.holds:
            return None
        paid = [0 if part.refunded else part.actual for part in self.parts]
        if self._plan is not None:
            return self._plan.costs(paid)
        return [check[2] if paid[0] is None else paid[0] for check in self.parts[0].checks]

    def close(self) -> None:
        """Settles in the caller's thread, once. A store that cannot is logged: the response is not at fault."""
        if self.loop is not None and self.loop.is_running():
            asyncio.run_coroutine_threadsafe(self.close_async(), self.loop)
            return
        costs = self.settlement()
        if costs is None:
            return
        try:
            if self.held is None or self.loop is not None:
                self.store.settle(self.receipt if self.held is None else self.held._receipt, costs)
            else:
                self.held.settle(costs)
                self.held.release()
        except StoreError as error:
            _log.warning("a request could not be settled: %s", error)

    async def close_async(self) -> None:
        """Settles without blocking the event loop, once."""
        costs = self.settlement()
        if costs is None:
            return
        try:
            if self.held is None:
                await self.store.settle_async(self.receipt, costs)
                return
            self.held.settle(costs)
            released = self.held.release()
            if not isinstance(released, LimitInfo):
                await released
        except StoreError as error:
            _log.warning("a request could not be settled: %s", error)
