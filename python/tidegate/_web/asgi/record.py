"""The decisions about one request, kept in its scope."""

from __future__ import annotations

import asyncio
from typing import Any

from ..._tidegate import LimitInfo
from ..decision import Decision
from ..guard import Guard
from .connection import HasScope, Outcome, Scope
from .room import AsgiRoom

__all__ = ["KEY", "Record", "info", "record_of", "settle"]

KEY = "tidegate"
"""The name of the record in a scope."""

# Tasks that settle after a request has ended; the loop itself holds them weakly.
_settling: set[asyncio.Task[None]] = set()


class Record:
    """The room of a request, and what was decided."""

    __slots__ = ("decisions", "dependencies", "room", "waits")

    def __init__(self, room: AsgiRoom[Any]) -> None:
        self.room = room
        self.decisions: list[Decision] = []
        self.waits = False
        """A limit is charged by the response, or was given an actual cost."""
        self.dependencies: Any = None
        """Decisions by dependency, for FastAPI."""

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
        self.waits = self.waits or decision.waits

    def _report_twice(self, decision: Decision) -> None:
        """Reports a limit that another instance has already charged this actor for."""
        earlier = {check[:2] for one in self.decisions for part in one.parts for check in part.checks}
        for part in decision.parts:
            for check in part.checks:
                if check[:2] in earlier:
                    self.room.gate.report("counted-twice", f"{check[0]!r}")

    @property
    def infos(self) -> LimitInfo | list[LimitInfo]:
        """The answers that headers are made of."""
        if len(self.decisions) == 1:
            return self.decisions[0].info
        return [decision.info for decision in self.decisions]

    def judge(self, status: int, headers: Any, error: BaseException | None = None) -> None:
        """Gives back what this response is not charged for."""
        outcome = Outcome(status, headers, error)
        for decision in self.decisions:
            decision.judge(status, outcome)

    async def close(self) -> None:
        """Settles what is known by now."""
        for decision in self.decisions:
            if decision.is_open:
                await decision.close_async()

    def close_soon(self) -> None:
        """Settles although the request was cancelled or failed: a task of its own is not cancelled with it."""
        for decision in self.decisions:
            if not decision.is_open:
                continue
            if not decision.store.shared:
                decision.close()
                continue
            task = asyncio.ensure_future(decision.close_async())
            _settling.add(task)
            task.add_done_callback(_settling.discard)


def record_of(connection: Any) -> Record | None:
    """The record of a request, a websocket or a scope."""
    scope = getattr(connection, "scope", connection)
    record: Record | None = scope.get(KEY)
    return record


def info(connection: HasScope | Scope) -> LimitInfo | None:
    """The latest answer about a request, a websocket or a scope; ``None`` where nothing limited it."""
    record = record_of(connection)
    return record.decisions[-1].info if record is not None and record.decisions else None


def settle(connection: HasScope | Scope, cost: int, guard: Guard[Any] | None = None) -> bool:
    """Notes what a request really cost; at the last byte of its response the difference is charged or given back.

    It may be called as often as the number is known better, such as after each part of a stream: the latest number
    counts, also where the stream breaks off. It is for limits that were given a ``cost``. False says that there were
    none.
    """
    record = record_of(connection)
    found = False
    for decision in () if record is None else record.decisions:
        found = decision.settle(cost, guard) or found
    if record is not None and found:
        record.waits = True
    return found
