"""The decisions about one request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._errors import ConfigurationError, LimitError
from .._http import Gate
from .._tidegate import LimitInfo
from .decision import Decision
from .drive import run
from .guard import Guard, Part


def unreleased(middleware: str) -> ConfigurationError:
    """The error for units that nothing would release."""
    return ConfigurationError(f"limits of type concurrency need {middleware}, which releases what a request holds")


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
        elif decisions:
            self._report_twice(decision)
        decisions.append(decision)
        if decision.blocked:
            self.room.tell_denied(decision)
        elif decision.holds or any(part.guard.charge_on is not None for part in decision.parts):
            self.waits = True

    def _report_twice(self, decision: Decision) -> None:
        """Reports a limit that another instance has already charged this actor for."""
        charged = [one for one in self.decisions if one.store is decision.store]
        earlier = {check[:2] for one in charged for part in one.parts for check in part.checks if check[2]}
        for part in decision.parts:
            for check in part.checks:
                if check[2] and check[:2] in earlier:
                    self.room.gate.report("counted-twice", f"{check[0]!r}")

    @property
    def infos(self) -> LimitInfo | list[LimitInfo]:
        """The answers that headers are made of."""
        if len(self.decisions) == 1:
            return self.decisions[0].info
        return [decision.info for decision in self.decisions]

    @property
    def latest(self) -> LimitInfo | None:
        """The latest answer, ``None`` where nothing limited the request."""
        return self.decisions[-1].info if self.decisions else None

    def settle(self, cost: int, guard: Guard[Any] | None = None) -> bool:
        """Notes the actual cost, for ``end``: of one guard, or of all that were given a cost; false where none was."""
        parts = [part for part in self.parts() if part.guard is guard or (guard is None and part.guard.has_cost)]
        if self.decisions and (isinstance(cost, bool) or not isinstance(cost, int) or cost < 0):
            raise LimitError(f"cost must be a whole number and at least 0, got {cost!r}", "", "cost", repr(cost))
        for part in parts:
            part.actual = cost
        self.waits = self.waits or bool(parts)
        return bool(parts)

    def judge(self, status: int, response: Any) -> None:
        """Notes what this response is not charged for."""
        self.is_judged = True
        for part in self.parts() if self.waits else ():
            charges = part.guard.charge_on
            part.refunded = (charges is not None and not charges(status, response)) or part.refunded

    async def end(self, waits: bool) -> None:
        """Settles what is known by now, without blocking the event loop or in the caller's thread."""
        if self.waits:
            for decision in self.decisions:
                await decision.end(waits)

    def close(self) -> None:
        """Settles in the caller's thread what is known by now."""
        if self.waits:
            run(self.end(False))
