"""The decisions about one request, kept in its scope."""

from __future__ import annotations

import asyncio
from typing import Any

from ..._tidegate import LimitInfo
from ..decision import Decision
from ..guard import Guard
from ..record import Record as _Record
from .connection import HasScope, Scope
from .room import AsgiRoom

__all__ = ["KEY", "Record", "info", "record_of", "settle"]

KEY = "tidegate"
"""The name of the record in a scope."""

# Tasks that settle after a request has ended; the loop itself holds them weakly.
_settling: set[asyncio.Task[None]] = set()


class Record(_Record):
    """The room of a request, and what was decided."""

    __slots__ = ("dependencies",)

    room: AsgiRoom[Any]

    def __init__(self, room: AsgiRoom[Any]) -> None:
        # Without a call of the base, because every request comes here.
        self.room = room
        self.decisions = []
        self.waits = False
        self.dependencies: Any = None
        """Decisions by dependency, for FastAPI."""

    def keep(self, scope: Scope, decision: Decision) -> bool:
        """Keeps a decision, and its answer as ``request.state.rate_limit``; true if it denies."""
        self.add(decision)
        state = scope.get("state")
        if state is None:
            scope["state"] = {"rate_limit": decision.info}
        else:
            state["rate_limit"] = decision.info
        return decision.blocked

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
    return record is not None and record.settle(cost, guard)
