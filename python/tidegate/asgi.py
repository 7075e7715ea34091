"""Rate limiting for ASGI applications: a pure middleware, a limit for websocket messages, and settlement.

>>> from tidegate.asgi import RateLimitMiddleware
>>> async def app(scope, receive, send): ...
>>> limited = RateLimitMiddleware(app, limits="100/minute")
"""

from __future__ import annotations

from typing import Any

from ._errors import LimitError
from ._tidegate import LimitInfo
from ._web.asgi.connection import HasScope, Outcome, Request, Scope, route_template
from ._web.asgi.middleware import RateLimitMiddleware
from ._web.asgi.record import info, record_of, settle
from ._web.asgi.room import AsgiRoom
from ._web.guard import Guard, GuardOptions, Limits, Unpack
from ._web.store import NO_LIMIT, OF_MIDDLEWARE, LimiterLike

__all__ = ["MessageLimit", "Outcome", "RateLimitMiddleware", "Request", "info", "settle"]


class MessageLimit:
    """A limit for the messages of websockets, asked for each message.

    It takes the same ``limits`` and options as ``RateLimitMiddleware``. Without a ``limiter`` it uses the one of the
    middleware above it. Limits as text without a ``name`` are kept for each route apart, where the framework says what
    its template is, and for all websockets together where it does not.

    >>> import asyncio
    >>> from tidegate import Limiter
    >>> from tidegate.asgi import MessageLimit
    >>> messages = MessageLimit("2/minute", limiter=Limiter())
    >>> scope = {"type": "websocket", "path": "/chat", "client": ("203.0.113.9", 50000), "headers": []}
    >>> async def talk():
    ...     return [(await messages.limit(scope)).blocked for message in range(3)]
    >>> asyncio.run(talk())
    [False, False, True]
    """

    def __init__(
        self, limits: Limits[Request], *, limiter: LimiterLike = OF_MIDDLEWARE, **options: Unpack[GuardOptions[Request]]
    ) -> None:
        self.guard: Guard[Any] = AsgiRoom.guard(limits, **options)
        if self.guard.holds:
            raise _held()
        self._room: AsgiRoom | None = None if limiter is OF_MIDDLEWARE else AsgiRoom(limiter)

    async def limit(self, connection: HasScope | Scope) -> LimitInfo:
        """Decides one message of a websocket, which is the framework's object or a scope.

        The caller drops the message or closes the connection, with code 1008, where the answer is ``blocked``.
        """
        scope: Any = getattr(connection, "scope", connection)
        record = record_of(scope)
        room = self._room
        if room is None:
            if record is None:
                self._room = room = AsgiRoom()
                room.gate.report("middleware-missing", "MessageLimit without a limiter")
            else:
                room = record.room
        request: Any = connection if hasattr(connection, "scope") else Request(scope)
        # Never the path itself, of which a client can make up any number.
        path = route_template(scope)
        part = await room.part(self.guard, request, "messages" if path is None else f"{path} messages")
        if part is None:
            return NO_LIMIT
        decision = await room.decided((part,), True)
        if decision.holds:
            await decision.end(True)
            raise _held()
        if decision.blocked:
            room.tell_denied(decision)
        await decision.tell_shadowed(request)
        return decision.info


def _held() -> LimitError:
    problem = "a message has no end at which it would be released: limit the websocket itself"
    return LimitError(f"limits must not be of type concurrency here: {problem}", "", "limits", "concurrency")
