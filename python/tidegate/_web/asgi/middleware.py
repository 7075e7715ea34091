"""The ASGI middleware."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from ..._errors import LimitError, TidegateError
from ..._http import GateOptions
from ..._tidegate import LimitInfo
from ..decision import Decision, decide_async
from ..frames import serves
from ..guard import Guard, GuardOptions, Limits
from ..store import MEMORY, LimiterLike
from .connection import ASGIApp, Message, Outcome, Receive, Request, Scope, Send
from .failure import respond
from .record import KEY, Record
from .room import AsgiRoom, ClientLimits, accept

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack

    class MiddlewareOptions(GuardOptions[Request], GateOptions, total=False):
        """Options of the middleware."""


__all__ = ["RateLimitMiddleware", "answered", "refuse", "tell_shadowed"]

POLICY_VIOLATION = 1008


class RateLimitMiddleware:
    """Limits every request of an ASGI application, and carries the headers of all limits below it.

    ``limits`` is a definition, a text, a list of them, or a function of the request. Without it the middleware limits
    nothing by itself, and serves the limits that routes have.

    >>> from tidegate.asgi import RateLimitMiddleware
    >>> async def app(scope, receive, send): ...
    >>> RateLimitMiddleware(app, limiter="memory://", limits=["100/minute", "10/second"], trusted_proxies=1)
    <RateLimitMiddleware 100/minute, 10/second>
    """

    room_class: ClassVar[type[AsgiRoom[Any]]] = AsgiRoom

    def __init__(
        self,
        app: ASGIApp,
        limiter: LimiterLike = MEMORY,
        limits: Limits[Request] | None = None,
        **options: Unpack[MiddlewareOptions],
    ) -> None:
        given: dict[str, Any] = dict(options)
        guarding = {name: given.pop(name) for name in GuardOptions.__annotations__ if name in given}
        self.app = app
        self.room = self.room_class(limiter, **given)
        self.guard: Guard[Any] | None = None
        if limits is not None:
            self.guard = Guard(limits, **guarding)
            self.room.check(self.guard)
        elif guarding:
            self.room.refuse_options(guarding)
        self._limits: ClientLimits | None = None

    def request_of(self, scope: Scope) -> Any:
        """The request that functions get."""
        return Request(scope)

    def begin(self, _scope: Scope) -> None:
        """Looks for mistakes before the first connection is served."""
        self.room.begin()
        if self.guard is not None:
            self._limits = self.room.client_limits(self.guard, self.room.store)

    @serves
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection, as the ASGI specification says."""
        kind = scope["type"]
        if not self.room.begun:
            try:
                self.begin(scope)
            except LimitError as error:
                if kind == "lifespan":
                    # A server goes on without a start that only raises.
                    await receive()
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                raise
        if kind != "http" or KEY in scope:
            serve = {"http": self._serve_inside, "websocket": self._connect}.get(kind, self.app)
            await serve(scope, receive, send)
            return
        room = self.room
        record = scope[KEY] = Record(room)
        if self.guard is not None:
            try:
                if self._limits is not None:
                    denied = record.limit_client(scope, self._limits).blocked
                else:
                    denied = await self._denied(scope, record)
            except TidegateError as error:
                await respond(self.room, error, scope, receive, send)
                return
            if denied:
                await self._refuse(scope, receive, send, record)
                return
        try:
            await self.app(scope, receive, partial(record.carry, send))
        except BaseException as error:
            if record.waits:
                if not record.is_judged:
                    record.judge(500, Outcome(500, (), error))
                record.close_soon()
            raise
        if record.waits:
            await record.close_async()

    async def _serve_inside(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves below another instance, which carries the headers and settles."""
        record: Record = scope[KEY]
        outer, record.room = record.room, self.room
        try:
            await self._serve(scope, receive, send, record)
        finally:
            record.room = outer

    async def _serve(self, scope: Scope, receive: Receive, send: Send, record: Record) -> None:
        try:
            # One instance may be met twice, around an application and within it.
            asks = self.guard is not None and not record.has_decided(self.guard)
            denied = asks and await self._denied(scope, record)
        except TidegateError as error:
            await respond(self.room, error, scope, receive, send)
            return
        if denied:
            await self._refuse(scope, receive, send, record)
        else:
            await self.app(scope, receive, send)

    async def _denied(self, scope: Scope, record: Record) -> bool:
        """Decides a request or a websocket."""
        if self._limits is not None:
            return record.limit_client(scope, self._limits).blocked
        assert self.guard is not None
        part = await self.room.part_async(self.guard, self.request_of(scope))
        if part is None:
            return False
        decision = await decide_async(self.room.store, (part,))
        if decision.shadowed:
            await tell_shadowed(decision, self.request_of(scope))
        return record.keep(scope, decision)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, record: Record) -> None:
        """Responds to what was denied."""
        response = await answered(record.decisions[-1], self.request_of, scope)
        if response is None:
            await refuse(self.room, scope, record.infos, send)
            return

        async def carry(message: Message) -> None:
            if message["type"].endswith("http.response.start"):
                fields = record.with_fields(message.get("headers", ()), message["status"])
                message = {**message, "headers": fields}
            await send(message)

        await response(scope, receive, carry)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = scope.get(KEY)
        if record is None:
            record = scope[KEY] = Record(self.room)
        try:
            await self._serve(scope, receive, send, record)
        finally:
            record.close_soon()

    def __repr__(self) -> str:
        return f"<RateLimitMiddleware {self.guard or 'without limits'}>"


async def answered(decision: Decision, request_of: Callable[[Scope], Any], scope: Scope) -> Any:
    """The response of ``on_blocked``, ``None`` where there is none."""
    on_blocked = decision.deciding.guard.on_blocked
    if on_blocked is None:
        return None
    response = on_blocked(request_of(scope), decision.info)
    return await response if inspect.isawaitable(response) else response


async def tell_shadowed(decision: Decision, request: Any) -> None:
    """Calls ``on_blocked`` for denials of limits in shadow mode. What it returns has no effect."""
    for guard, info in decision.shadowed:
        told = guard.on_blocked(request, info)
        if inspect.isawaitable(told):
            await told


async def refuse(room: AsgiRoom[Any], scope: Scope, infos: LimitInfo | Sequence[LimitInfo], send: Send) -> None:
    """Sends a refusal of a request, or of a websocket that has not been accepted."""
    prefix = ""
    if scope["type"] == "websocket":
        if "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": "rate limit exceeded"})
            return
        prefix = "websocket."
    refusal = room.gate.refusal(infos, accept(scope))
    await send({"type": prefix + "http.response.start", "status": refusal.status, "headers": refusal.raw_headers})
    body = b"" if scope.get("method") == "HEAD" else refusal.body
    await send({"type": prefix + "http.response.body", "body": body})
