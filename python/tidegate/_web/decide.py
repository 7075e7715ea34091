"""Deciding: one call for all limits of a request, shadow limits and candidates among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._errors import LimitError, StoreError
from .._tidegate import LimitInfo
from ..shadow import count_candidate, count_shadow
from .decision import NO_LIMIT, Ask, Decision, Receipt, answers_of, ask, merged, same
from .failure import by_request
from .guard import Asked, Part
from .store import Store

__all__ = ["decide", "decide_async"]


def decide(store: Store, parts: Sequence[Part]) -> Decision:
    """Decides in the caller's thread. There is at least one part."""
    try:
        if len(parts) == 1 and not parts[0].observes:
            return Decision(store, parts, store.decide(parts[0].checks))
        call = _Call(parts)
        try:
            return call.decision(store, store.decide(call.checks, call.beside))
        except (LimitError, StoreError) as error:
            if not call.fails_alone(error):
                raise
            return call.unobserved(store, store.decide(call.checks) if call.checks else NO_LIMIT)
    except LimitError as error:
        raise by_request(error, any(callable(part.guard.cost) for part in parts)) from error.__cause__


async def decide_async(store: Store, parts: Sequence[Part]) -> Decision:
    """Decides without blocking the event loop."""
    if not store.shared:
        return decide(store, parts)
    try:
        if len(parts) == 1 and not parts[0].observes:
            return Decision(store, parts, await store.decide_async(parts[0].checks))
        call = _Call(parts)
        try:
            return call.decision(store, await store.decide_async(call.checks, call.beside))
        except (LimitError, StoreError) as error:
            if not call.fails_alone(error):
                raise
            return call.unobserved(store, await store.decide_async(call.checks) if call.checks else NO_LIMIT)
    except LimitError as error:
        raise by_request(error, any(callable(part.guard.cost) for part in parts)) from error.__cause__


class _Observed(NamedTuple):
    """A shadow limit, or the candidate of one part."""

    part: Part
    checks: list[Asked]
    is_shadow: bool


class _Call:
    """The one call for all limits of a request: those that are enforced, and those that are observed beside them."""

    __slots__ = ("beside", "checks", "each", "live", "observed", "parts")

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.live = ask(parts)
        self.checks = self.live.checks
        self.each = [_Observed(part, [check], True) for part in parts for check in part.shadow or ()]
        self.each += [_Observed(part, part.candidate, False) for part in parts if part.candidate]
        self.observed = Ask((one.part, one.checks) for one in self.each)
        # What is enforced as well is charged once.
        enforced = {same(check) for check in self.checks}
        self.beside = [check for check in self.observed.checks if same(check) not in enforced]

    def fails_alone(self, error: Exception) -> bool:
        """True if the error may be that of observed checks, with which a request does not fail.

        Where something is enforced beside them, that may be at fault as well: it is decided by itself.
        """
        return not self.checks if isinstance(error, StoreError) else bool(self.beside)

    def unobserved(self, store: Store, info: LimitInfo) -> Decision:
        """The decision of what is enforced, where the rest could not be decided."""
        receipts = [Receipt(info, self.live.owners)] if self.checks else []
        answers = answers_of(info, len(self.checks)) if self.checks else ()
        return Decision(store, self.parts, info).made_of(self.live.places, answers, receipts)

    def decision(self, store: Store, info: LimitInfo) -> Decision:
        """The decision that this answer stands for, once what is observed has been counted."""
        live = self.live
        if not self.each:
            answers = answers_of(info, len(self.checks))
            receipts = [Receipt(info, live.owners)]
            return Decision(store, self.parts, info).made_of(live.places, answers, receipts)
        asked = [*self.checks, *self.beside]
        each = answers_of(info, len(asked))
        enforced = each[: len(self.checks)]
        given = {same(check): answers for check, answers in zip(asked, each)}
        beside = [any(answer.blocked for answer in given[same(check)]) for check in self.observed.checks]
        owners = [owners for check, owners in zip(self.observed.checks, self.observed.owners) if check in self.beside]
        receipts = [Receipt(info, live.owners + owners)]
        answer = merged([answer for answers in enforced for answer in answers]) if enforced else NO_LIMIT
        decision = Decision(store, self.parts, answer).made_of(live.places, enforced, receipts)
        place = 0
        for one in self.each:
            places = self.observed.places[place : place + len(one.checks)]
            place += len(one.checks)
            denied = any(beside[index] for index in places)
            label = ", ".join(check[0].key for check in one.checks)
            if one.is_shadow:
                count_shadow(label, denied)
                if denied and one.part.guard.on_blocked is not None:
                    blocked = (info for check in one.checks for info in given[same(check)] if info.blocked)
                    decision.shadowed.append((one.part.guard, next(blocked)))
            else:
                count_candidate(label, decision.denied(one.part), denied)
        return decision
