"""The decisions about one request, kept in its scope."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from ..._tidegate import Limit, LimitInfo
from ..decision import Decision
from ..guard import Asked, Guard, Part
from ..record import Record as _Record
from ..store import Store
from .connection import HasScope, Scope
from .room import AsgiRoom

__all__ = ["KEY", "Record", "info", "record_of", "settle"]

KEY = "tidegate"
"""The name of the record in a scope."""

# Tasks that settle after a request has ended; the loop itself holds them weakly.
_settling: set[asyncio.Task[None]] = set()


class Record(_Record):
    """The room of a request, and what was decided."""

    __slots__ = ("_alone", "_decisions", "dependencies", "only")

    room: AsgiRoom[Any]

    def __init__(self, room: AsgiRoom[Any]) -> None:
        self.room = room
        self.waits = False
        self.only: LimitInfo | None = None
        """The answer of the one decision, which admitted the request, as long as nothing else is asked about it."""
        self._alone: tuple[Store, Guard[Any], list[Asked]]
        self._decisions: list[Decision] = []
        self.dependencies: Any = None
        """Decisions by dependency, for FastAPI."""

    @property
    def decisions(self) -> list[Decision]:
        """The decisions, in the order in which they were made."""
        if self.only is not None:
            store, guard, checks = self._alone
            self._decisions.append(Decision(store, (Part(guard, checks),), self.only))
            self.only = None
        return self._decisions

    def keep(self, scope: Scope, decision: Decision) -> bool:
        """Keeps a decision, and its answer as ``request.state.rate_limit``; true if it denies."""
        self.add(decision)
        state = scope.get("state")
        if state is None:
            scope["state"] = {"rate_limit": decision.info}
        else:
            state["rate_limit"] = decision.info
        return decision.blocked

    def limit_client(self, scope: Scope, store: Store, guard: Guard[Any], limits: Sequence[Limit]) -> LimitInfo:
        """Decides limits of the client's address, and keeps the answer.

        This is most of what is decided, so no more is made of it than the request needs.
        """
        actor, cost, factor = self.room.gate.client_of(scope), guard.cost, guard.factor
        if len(limits) == 1:
            checks = [(limits[0], actor, cost, factor)]
        else:
            checks = [(limit, actor, cost, factor) for limit in limits]
        info = store.decide(checks)
        if self.only is not None or self._decisions or info.blocked or guard.charge_on is not None:
            self.add(Decision(store, (Part(guard, checks),), info))
        else:
            self.only, self._alone = info, (store, guard, checks)
        state = scope.get("state")
        if state is None:
            scope["state"] = {"rate_limit": info}
        else:
            state["rate_limit"] = info
        return info

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
    if record is None:
        return None
    return record.only or (record.decisions[-1].info if record.decisions else None)


def settle(connection: HasScope | Scope, cost: int, guard: Guard[Any] | None = None) -> bool:
    """Notes what a request really cost; at the last byte of its response the difference is charged or given back.

    It may be called as often as the number is known better, such as after each part of a stream: the latest number
    counts, also where the stream breaks off. It is for limits that were given a ``cost``. False says that there were
    none.
    """
    record = record_of(connection)
    return record is not None and record.settle(cost, guard)
