"""Deciding: one call for all limits of a request, shadow limits and candidates among them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple, TypeAlias

from .._tidegate import LimitInfo
from ..shadow import count_candidate, count_shadow
from .decision import NO_LIMIT, Ask, Decision, Receipt, ask, merged
from .guard import Asked, Part
from .store import Store

__all__ = ["decide", "decide_async"]

Steps: TypeAlias = Generator[Sequence[Asked], LimitInfo, Decision]


def decide(store: Store, parts: Sequence[Part]) -> Decision:
    """Decides in the caller's thread. There is at least one part."""
    if len(parts) == 1 and not parts[0].observes:
        return Decision(store, parts, store.decide(parts[0].checks))
    steps = _steps(store, parts)
    checks = next(steps)
    try:
        while True:
            checks = steps.send(store.decide(checks))
    except StopIteration as end:
        decision: Decision = end.value
        return decision


async def decide_async(store: Store, parts: Sequence[Part]) -> Decision:
    """Decides without blocking the event loop."""
    if not store.shared:
        return decide(store, parts)
    if len(parts) == 1 and not parts[0].observes:
        return Decision(store, parts, await store.decide_async(parts[0].checks))
    steps = _steps(store, parts)
    checks = next(steps)
    while True:
        info = await store.decide_async(checks)
        try:
            checks = steps.send(info)
        except StopIteration as end:
            decision: Decision = end.value
            return decision


def _steps(store: Store, parts: Sequence[Part]) -> Steps:
    """The calls of one decision: most often one."""
    live = ask(parts)
    if not any(part.observes for part in parts):
        info = yield live.checks
        return Decision(store, parts, info, live.places, info.checks, [Receipt(info, live.owners)])
    if any(part.guard.counts_blocked for part in parts):
        return (yield from _apart(store, parts, live))
    return (yield from _together(store, parts, live))


class Observed(NamedTuple):
    """A shadow limit, or the candidate of one part."""

    part: Part
    checks: list[Asked]
    is_shadow: bool

    def applies(self, live: Decision) -> bool:
        """It would have been asked, had it been enforced: nothing else denied the request."""
        if self.is_shadow:
            return not live.blocked
        return not any(live.denied(part) for part in live.parts if part is not self.part)

    def tally(self, live: Decision, denied: bool) -> None:
        """Counts its answer beside that of the limits that are enforced."""
        label = ", ".join(_key(check) for check in self.checks)
        if self.is_shadow:
            count_shadow(label, denied)
        else:
            count_candidate(label, live.denied(self.part), denied)


def _key(check: Asked) -> str:
    return check[0].key


def _observed(parts: Sequence[Part]) -> list[Observed]:
    found = [Observed(part, [check], True) for part in parts for check in part.shadow or ()]
    return found + [Observed(part, part.candidate, False) for part in parts if part.candidate]


def _together(store: Store, parts: Sequence[Part], live: Ask) -> Steps:
    """Limits and those that are observed beside them in one call, and in more where that one was denied.

    A denied call charges nothing, so the enforced limits are then asked for alone, and after them those that would
    have been charged. What is observed never changes an answer.
    """
    observed = _observed(parts)
    every = Ask([*((part, part.checks) for part in parts), *((one.part, one.checks) for one in observed)])
    first = yield every.checks
    if not live.checks:
        receipts = [] if first.blocked else [Receipt(first, every.owners)]
        decision = Decision(store, parts, NO_LIMIT, (), (), receipts)
    elif first.blocked:
        info = yield live.checks
        decision = Decision(store, parts, info, live.places, info.checks, [Receipt(info, live.owners)])
    else:
        checks = first.checks[: len(live.checks)]
        decision = Decision(store, parts, merged(checks), live.places, checks, [Receipt(first, every.owners)])
    late: list[tuple[Part, list[Asked]]] = []
    place = len(live.places)
    for one in observed:
        denied = any(first.checks[index].blocked for index in every.places[place : place + len(one.checks)])
        place += len(one.checks)
        if one.applies(decision):
            one.tally(decision, denied)
            if first.blocked and not denied:
                late.append((one.part, one.checks))
    if late:
        pending = Ask(late)
        decision.receipts.append(Receipt((yield pending.checks), pending.owners))
    return decision


def _apart(store: Store, parts: Sequence[Part], live: Ask) -> Steps:
    """The same in a call each, for limits that count blocked attempts: a denied call charges those."""
    if live.checks:
        info = yield live.checks
        decision = Decision(store, parts, info, live.places, info.checks, [Receipt(info, live.owners)])
    else:
        decision = Decision(store, parts, NO_LIMIT, (), (), [])
    for one in _observed(parts):
        if one.applies(decision):
            asked = Ask([(one.part, one.checks)])
            answer = yield asked.checks
            one.tally(decision, answer.blocked)
            decision.receipts.append(Receipt(answer, asked.owners))
    return decision
