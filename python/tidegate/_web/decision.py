"""One decision per request for all limits that apply, and its settlement."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from .._errors import LimitError, StoreError
from .._http import combine
from .._tidegate import LimitInfo
from .guard import Asked, Guard, Part
from .store import Store

__all__ = ["NO_LIMIT", "Ask", "Decision", "Receipt", "answers_of", "ask", "merged", "same"]

# The engine's own answer where there is no limit.
NO_LIMIT = LimitInfo(remaining=2**53 - 1, quota=2**53 - 1)


_log = logging.getLogger("tidegate")


class Receipt:
    """A call that may have charged, and the parts that each of its checks stands for."""

    __slots__ = ("info", "owners")

    def __init__(self, info: LimitInfo, owners: list[list[tuple[Part, int]]]) -> None:
        self.info = info
        self.owners = owners

    def costs(self) -> list[int]:
        """The cost that each check really had. One that stands for several parts had the largest of theirs."""
        return [max(_actual(part, cost) for part, cost in owners) for owners in self.owners]


def _actual(part: Part, cost: int) -> int:
    if part.refunded:
        return 0
    return cost if part.actual is None else part.actual


def same(check: Asked) -> tuple[object, ...]:
    """A check without its cost: equal ones are asked for once."""
    return (*check[:2], *check[3:])


def answers_of(info: LimitInfo, count: int) -> Sequence[Sequence[LimitInfo]]:
    """The answers to each of so many checks of a call; a legacy limit can have two."""
    if len(info.checks) == count:
        return [(answer,) for answer in info.checks]
    answers: list[list[LimitInfo]] = [[] for _ in range(count)]
    for answer in info.checks:
        answers[answer._check].append(answer)
    return answers


class Ask:
    """Checks of several parts as one call asks for them: each limit of an actor once."""

    __slots__ = ("checks", "owners", "places")

    def __init__(self, asked: Iterable[tuple[Part, list[Asked]]]) -> None:
        pairs = [(part, check) for part, checks in asked for check in checks]
        every = [check for _, check in pairs]
        self.checks: list[Asked] = combine(every) if len(every) > 1 else every
        if len(self.checks) == len(every):
            self.owners = [[(part, check[2])] for part, check in pairs]
            self.places = list(range(len(every)))
            return
        at = {same(check): place for place, check in enumerate(self.checks)}
        self.places = [at[same(check)] for check in every]
        self.owners = [[] for _ in self.checks]
        for place, (part, check) in zip(self.places, pairs):
            self.owners[place].append((part, check[2]))


def ask(parts: Sequence[Part]) -> Ask:
    """The call that asks for all enforced limits of these parts."""
    return Ask((part, part.checks) for part in parts)


class Decision:
    """The answer to one request, and what it charged."""

    # What is known of itself where one part was asked for as it is.
    _places: Sequence[int] | None = None
    _answers: Sequence[Sequence[LimitInfo]] | None = None
    _receipts: list[Receipt] | None = None

    def __init__(self, store: Store, parts: Sequence[Part], info: LimitInfo) -> None:
        self.store = store
        self.info = info
        """The answer of all limits that are enforced."""
        self.blocked = info.blocked
        self.parts = parts
        self.shadowed: list[tuple[Guard[Any], LimitInfo]] = []
        """Denials of limits in shadow mode, of guards that want to know of them."""

    def made_of(
        self, places: Sequence[int], answers: Sequence[Sequence[LimitInfo]], receipts: list[Receipt]
    ) -> Decision:
        """The same, of a call that asked for several parts, or for what is observed."""
        self._places = places
        self._answers = answers
        self._receipts = receipts
        return self

    @property
    def answers(self) -> Sequence[Sequence[LimitInfo]]:
        """The answers to each check that is enforced."""
        if self._answers is None:
            self._answers = answers_of(self.info, len(self.parts[0].checks))
        return self._answers

    @property
    def places(self) -> Sequence[int]:
        """The index of each part's checks, one after the other, in ``answers``."""
        return range(len(self.parts[0].checks)) if self._places is None else self._places

    @property
    def receipts(self) -> list[Receipt]:
        """The calls that may have charged."""
        if self._receipts is None:
            part = self.parts[0]
            self._receipts = [Receipt(self.info, [[(part, check[2])] for check in part.checks])]
        return self._receipts

    def _of(self, wanted: Part) -> list[LimitInfo]:
        start = 0
        for part in self.parts:
            end = start + len(part.checks)
            if part is wanted:
                return [answer for place in self.places[start:end] for answer in self.answers[place]]
            start = end
        return []

    def denied(self, part: Part) -> bool:
        """One of this part's limits denied the request."""
        return any(check.blocked for check in self._of(part))

    @property
    def deciding(self) -> Part:
        """The part whose limit decides."""
        asked = [part for part in self.parts for _ in part.checks]
        owners = [place for place, answers in enumerate(self.answers) for _ in answers]
        return asked[self.places.index(owners[self.info.binding])]

    def answer(self, guard: Guard[Any]) -> LimitInfo | None:
        """The answer of one guard's limits; ``None`` where it limits nothing."""
        if len(self.parts) == 1:
            return self.info if self.parts[0].guard is guard else None
        for part in self.parts:
            if part.guard is guard:
                return merged(self._of(part)) if part.checks else None
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
        return self._receipts != [] and any(part.refunded or part.actual is not None for part in self.parts)

    def settlements(self) -> list[tuple[LimitInfo, list[int]]]:
        """Receipts with the costs that their checks really had. Each is named once."""
        if not self.is_open:
            return []
        receipts, self._receipts = self.receipts, []
        return [(receipt.info, receipt.costs()) for receipt in receipts if not receipt.info.blocked]

    def close(self) -> None:
        """Settles in the caller's thread, once. A store that cannot is logged: the response is not at fault."""
        try:
            for info, costs in self.settlements():
                self.store.settle(info, costs)
        except StoreError as error:
            _log.warning("a request could not be settled: %s", error)

    async def close_async(self) -> None:
        """Settles without blocking the event loop, once."""
        try:
            for info, costs in self.settlements():
                await self.store.settle_async(info, costs)
        except StoreError as error:
            _log.warning("a request could not be settled: %s", error)


def merged(checks: Sequence[LimitInfo]) -> LimitInfo:
    """One answer of several that were decided together, without those that were decided beside them."""
    if len(checks) == 1:
        return checks[0]
    blocked = [check for check in checks if check.blocked]
    if blocked:
        binding = max(blocked, key=lambda check: check.reset_ms)
    else:
        binding = min(checks, key=lambda check: check.remaining)
    return LimitInfo(
        blocked=bool(blocked),
        remaining=min(check.remaining for check in checks),
        reset_ms=max(check.reset_ms for check in blocked or checks),
        full_reset_ms=max(check.full_reset_ms for check in checks),
        next_ms=binding.next_ms,
        quota=binding.quota,
        window_ms=binding.window_ms,
        degraded=any(check.degraded for check in checks),
        key=binding.key,
        actor=binding.actor,
        binding=checks.index(binding),
        checks=checks,
    )
