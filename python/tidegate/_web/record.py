"""The decisions about one request."""

from __future__ import annotations

from typing import Any

from .._errors import ConfigurationError
from .._tidegate import LimitInfo
from .decision import Decision
from .guard import Guard
from .room import Room

__all__ = ["Record", "unreleased"]


def unreleased(middleware: str) -> ConfigurationError:
    """The error for units that nothing would release."""
    return ConfigurationError(f"limits of type concurrency need {middleware}, which releases what a request holds")


class Record:
    """The room of a request, and what was decided."""

    __slots__ = ("room", "waits")

    room: Room[Any]
    waits: bool
    """A limit is charged by the response, or was given an actual cost."""

    @property
    def decisions(self) -> list[Decision]:
        """The decisions, in the order in which they were made."""
        raise NotImplementedError

    def add(self, decision: Decision) -> None:
        """Keeps a decision; the headers show it, and the end of the response settles it."""
        if self.decisions:
            if decision.blocked:
                # All or nothing: what the outer limits charged is given back.
                for earlier in self.decisions:
                    earlier.refund()
                self.waits = True
            else:
                self._report_twice(decision)
        self.decisions.append(decision)
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

    def has_decided(self, guard: Guard[Any]) -> bool:
        """True if this guard has limited the request before, as a middleware that stands in two places does."""
        return any(part.guard is guard for decision in self.decisions for part in decision.parts)

    @property
    def infos(self) -> LimitInfo | list[LimitInfo]:
        """The answers that headers are made of."""
        if len(self.decisions) == 1:
            return self.decisions[0].info
        return [decision.info for decision in self.decisions]

    def settle(self, cost: int, guard: Guard[Any] | None = None) -> bool:
        """Notes the actual cost; false where no limit was given one."""
        found = False
        for decision in self.decisions:
            found = decision.settle(cost, guard) or found
        self.waits = self.waits or found
        return found

    @property
    def may_settle(self) -> bool:
        """A stream may still change what was charged."""
        return self.waits or any(part.guard.has_cost for decision in self.decisions for part in decision.parts)

    def judge(self, status: int, response: Any) -> None:
        """Gives back what this response is not charged for."""
        if self.waits:
            for decision in self.decisions:
                decision.judge(status, response)

    def close(self) -> None:
        """Settles in the caller's thread what is known by now."""
        if self.waits:
            for decision in self.decisions:
                decision.close()

    async def close_async(self) -> None:
        """Settles without blocking the event loop."""
        if self.waits:
            for decision in self.decisions:
                await decision.close_async()
