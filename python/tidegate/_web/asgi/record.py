"""The decisions about one request, kept in its scope."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from ..._errors import ConfigurationError
from ..._tidegate import LimitInfo
from ..decision import Decision
from ..decision import Record as _Record
from ..guard import Guard
from ..store import Store
from .connection import ASGIApp, HasScope, Headers, Message, Outcome, Receive, Scope, Send
from .room import AsgiRoom, ClientLimits, unaddressed

KEY = "tidegate"
"""The name of the record in a scope."""

# Tasks that settle after a request has ended; the loop itself holds them weakly.
_settling: set[asyncio.Task[None]] = set()


class Record(_Record):
    room: AsgiRoom
    is_carried = True
    """A middleware writes headers and settles."""
    only: LimitInfo | None = None
    """The answer of the one decision, which admitted the request, as long as nothing else is asked about it."""
    _alone: tuple[ClientLimits, str]
    dependencies: Any = None
    """Decisions by dependency, for FastAPI."""

    @property
    def decisions(self) -> list[Decision]:
        if self.only is not None:
            limits, client = self._alone
            self._decisions.append(limits.decision(client, self.only))
            self.only = None
        return self._decisions

    def keep(self, scope: Scope, decision: Decision) -> bool:
        """Keeps a decision, and its answer as ``request.state.rate_limit``; true if it denies."""
        self.add(decision)
        self.gate.show(scope, decision.info)
        return decision.blocked

    def limit_client(self, scope: Scope, limits: ClientLimits) -> LimitInfo:
        """Decides limits of the client's address, and keeps the answer; the decision is made of it when asked for."""
        try:
            client, info = limits.ask_in_place(scope) if Store.stand_in is not None else limits.ask(scope)
        except ConfigurationError as error:
            raise unaddressed(error, scope) from error
        if self.only is not None or self._decisions or info.blocked or limits.guard.charge_on is not None:
            self.add(limits.decision(client, info))
        else:
            self.only, self._alone = info, (limits, client)
        return info

    def carrier(self, send: Send) -> Send:
        """A ``send`` that adds the headers of all limits to a response, and settles before its last byte.

        The record does not hold ``send``, because what that belongs to may hold the scope, and so the record. A
        ``partial`` of a method would take longer to make and to call.
        """

        def carry(message: Message) -> Awaitable[None]:
            kind = message["type"]
            if kind == "http.response.start":
                if self.waits:
                    status = message["status"]
                    self.judge(status, Outcome(status, message.get("headers", ())))
                if self.only is not None:
                    message = self.gate.carrying(message, self.only)
                elif self.decisions:
                    message = self.carrying(message)
            elif self.waits and kind == "http.response.body" and not message.get("more_body", False):
                return self._settled(send, message)
            return send(message)

        return carry

    async def _settled(self, send: Send, message: Message) -> None:
        """Sends the last message of a response: a client that has read it finds it settled."""
        await self.end(True)
        await send(message)

    def carrying(self, message: Message) -> Message:
        """The start of a response with the fields of its limits. That of a denied request may have them already."""
        blocked = self.decisions[-1].blocked
        message = self.gate.carrying(message, self.infos, blocked)
        if blocked:
            fields = message["headers"]
            lacking = self.lacking(Headers(fields), message["status"])
            fields += [(name.lower().encode(), value.encode()) for name, value in lacking]
        return message

    async def answer(self, response: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the response that ``on_blocked`` has made to a denied request, with the fields of a refusal."""

        async def carry(message: Message) -> None:
            if message["type"].endswith("http.response.start"):
                message = self.carrying(message)
            await send(message)

        await response(scope, receive, carry)

    def end_soon(self) -> None:
        """Settles although the request was cancelled or failed: a task of its own is not cancelled with it."""
        if not any(decision.store.shared for decision in self.decisions):
            self.close()
            return
        task = asyncio.ensure_future(self.end(True))
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
    return None if record is None else record.latest


def settle(connection: HasScope | Scope, cost: int, guard: Guard[Any] | None = None) -> bool:
    """Notes what a request really cost; at the last byte of its response the difference is charged or given back.

    It may be called as often as the number is known better, such as after each part of a stream: the latest number
    counts, also where the stream breaks off. It is for limits that were given a ``cost``. False says that there were
    none.
    """
    record = record_of(connection)
    return record is not None and record.settle(cost, guard)
