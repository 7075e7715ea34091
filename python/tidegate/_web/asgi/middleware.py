"""The ASGI middleware."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

from ..._errors import LimitError, TidegateError
from ..._http import GateOptions
from ..decision import decide
from ..frames import serves
from ..guard import Guard, GuardOptions, Limits, R, Unpack
from ..store import MEMORY, LimiterLike
from .connection import ASGIApp, Outcome, Receive, Request, Scope, Send
from .failure import can_respond, refuse, respond
from .record import KEY, Record
from .room import AsgiRoom, ClientLimits

if TYPE_CHECKING:

    class MiddlewareOptions(GuardOptions[R], GateOptions, total=False):
        """Options of the middleware."""


# Litestar makes an instance for each of its routes; each would count by itself.
_in_litestar: WeakSet[RateLimitMiddleware] = WeakSet()


class RateLimitMiddleware:
    """Limits every request of an ASGI application, and carries the headers of all limits below it.

    ``limits`` is a definition, a text, a list of them, or a function of the request. Without it the middleware limits
    nothing by itself, and serves the limits that routes have.

    >>> from tidegate.asgi import RateLimitMiddleware
    >>> async def app(scope, receive, send): ...
    >>> RateLimitMiddleware(app, limiter="memory://", limits=["100/minute", "10/second"], trusted_proxies=1)
    <RateLimitMiddleware 100/minute, 10/second>
    """

    room_class: ClassVar[type[AsgiRoom]] = AsgiRoom

    def __init__(
        self,
        app: ASGIApp,
        limiter: LimiterLike = MEMORY,
        limits: Limits[Request] | None = None,
        **options: Unpack[MiddlewareOptions[Request]],
    ) -> None:
        self.app = app
        self.room = self.room_class(limiter, limits, **options)
        self.guard = self.room.default
        self._limits: ClientLimits | None = None
        self._given = (limiter, limits, options)
        self._litestar: object = None

    def request_of(self, scope: Scope) -> Any:
        """The request that functions get."""
        return Request(scope)

    def begin(self, scope: Scope) -> None:
        """Looks for mistakes before the first connection is served."""
        if "litestar_app" in scope:
            self._join(scope["litestar_app"])
        if not self.room.begun:
            self.room.begin()
        if self.guard is not None:
            self._limits = self.room.client_limits(self.guard, self.room.store)

    def _join(self, app: object) -> None:
        """Takes the room of an instance that Litestar has made of the same options for another route."""
        self._litestar = app
        for other in _in_litestar:
            if other._litestar is app and other._given == self._given and type(other) is type(self):
                self.room, self.guard = other.room, other.guard
                return
        _in_litestar.add(self)

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
        if kind not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        room, guard = self.room, self.guard
        record: Record | None = scope.get(KEY)
        # An instance around this one carries the headers and settles.
        is_outermost = record is None
        if record is None:
            record = scope[KEY] = Record(room)
        outer, record.room = record.room, room
        try:
            # One instance may be met twice, around an application and within it.
            if guard is not None and (is_outermost or all(part.guard is not guard for part in record.parts())):
                try:
                    if self._limits is not None:
                        info = record.limit_client(scope, self._limits)
                        # Of one that admits, the record knows: to ask the answer takes longer.
                        denied = record.only is None and info.blocked
                    else:
                        denied = await self._denied(scope, record, guard)
                except TidegateError as error:
                    await respond(room, error, scope, receive, send)
                    return
                if denied:
                    await self._refuse(scope, receive, send, record)
                    return
            carry = record.carrier(send) if is_outermost and kind == "http" else send
            await self.app(scope, receive, carry)
            if is_outermost and record.waits:
                await record.end(True)
        except BaseException as error:
            if is_outermost and record.waits:
                # A request that is cancelled has no response to be judged by, so its charge stays.
                is_cancelled = isinstance(error, asyncio.CancelledError)
                if kind == "http" and not (record.is_judged or is_cancelled):
                    record.judge(500, Outcome(500, (), error))
                record.end_soon()
            raise
        finally:
            record.room = outer

    async def _denied(self, scope: Scope, record: Record, guard: Guard[Any]) -> bool:
        request = self.request_of(scope)
        part = await self.room.part(guard, request)
        if part is None:
            return False
        decision = await decide(self.room.store, (part,), True)
        # Kept first: the request ends here where this fails or is cancelled, and what it holds with it.
        is_denied = record.keep(scope, decision)
        await decision.tell_shadowed(request)
        return is_denied

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, record: Record) -> None:
        response = await record.decisions[-1].response(self.request_of(scope))
        if response is None or not can_respond(scope):
            await refuse(self.room, record.infos, scope, send)
            return
        await record.answer(response, scope, receive, send)

    def __repr__(self) -> str:
        return f"<RateLimitMiddleware {self.guard or 'without limits'}>"
