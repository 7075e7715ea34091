"""Rate limiting for FastAPI: a dependency for routes, and the middleware that sets its headers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from fastapi import params
from fastapi.encoders import ENCODERS_BY_TYPE
from starlette.requests import HTTPConnection, Request

from ._errors import LimitError, TidegateError
from ._tidegate import _APP, LimitInfo
from ._web.asgi.connection import Outcome, Scope
from ._web.asgi.middleware import RateLimitMiddleware as _Middleware
from ._web.asgi.record import KEY, Record, info, settle
from ._web.asgi.room import AsgiRoom
from ._web.decision import Decision, decide, unreleased
from ._web.fastapi.openapi import document
from ._web.fastapi.plan import Limiting, Plan, check_routes, exempt, plan_of
from ._web.fastapi.refusal import AnsweredError, RateLimited, failure, refusal_of, register
from ._web.guard import ASK, Given, Guard, LimitOptions, Limits, Part, Unpack
from ._web.store import MEMORY, NO_LIMIT, OF_MIDDLEWARE, LimiterLike, Store, store_of
from .asgi import MessageLimit

if TYPE_CHECKING:
    from ._web.asgi.connection import ASGIApp
    from ._web.asgi.middleware import MiddlewareOptions

__all__ = [
    "MessageLimit",
    "Outcome",
    "RateLimit",
    "RateLimitMiddleware",
    "RateLimited",
    "document",
    "exempt",
    "info",
    "settle",
]


# An endpoint without a type may return its answer.
ENCODERS_BY_TYPE[LimitInfo] = LimitInfo.to_dict


class Room(AsgiRoom):
    """The room of a FastAPI application."""

    kind = "fastapi"


class RateLimitMiddleware(_Middleware):
    """The middleware of ``tidegate.asgi``, whose functions get Starlette's ``Request``.

    It serves the ``RateLimit`` dependencies: their limiter, client addresses, headers and settlements. With ``limits``
    it also limits every request by itself.

    >>> from fastapi import FastAPI
    >>> from tidegate.fastapi import RateLimitMiddleware
    >>> app = FastAPI()
    >>> app.add_middleware(RateLimitMiddleware, limiter="memory://", headers="both")
    """

    room_class = Room

    if TYPE_CHECKING:

        def __init__(
            self,
            app: ASGIApp,
            limiter: LimiterLike = MEMORY,
            limits: Limits[Request] | None = None,
            **options: Unpack[MiddlewareOptions[Request]],
        ) -> None: ...

    def request_of(self, scope: Scope) -> Any:
        """The request that functions get."""
        return Request(scope) if scope["type"] == "http" else HTTPConnection(scope)

    def begin(self, scope: Scope) -> None:
        """Looks for mistakes before the first connection is served, and documents the refusals."""
        if "app" in scope:
            check_routes(scope["app"])
            document(scope["app"])
        super().begin(scope)


Decided: TypeAlias = Decision | LimitInfo | None
"""The decision of a dependency with those beside it, or the answer of one that was decided alone."""


class RateLimit(Limiting):
    """A dependency that limits what depends on it, and returns the answer.

    It stands in the parameters of an endpoint, ``info: Annotated[LimitInfo, Depends(RateLimit("5/minute"))]``, or in
    the ``dependencies`` of a route, a router or the application. Limits as text are kept for each route apart, by its
    methods and its template, those of the application for all routes together, and those with one ``name`` are shared.
    ``key`` may also be a ``Depends(…)``.

    A denied request raises ``RateLimited``. The limiter, and who the client is, are those of ``RateLimitMiddleware``,
    which also writes the headers and settles.

    >>> from typing import Annotated
    >>> from fastapi import Depends, FastAPI
    >>> from tidegate import LimitInfo
    >>> from tidegate.fastapi import RateLimit, RateLimitMiddleware
    >>> app = FastAPI(dependencies=[Depends(RateLimit("1000/hour", name="all"))])
    >>> app.add_middleware(RateLimitMiddleware, limiter="memory://")
    >>> @app.get("/items/{item}")
    ... async def read(item: int, info: Annotated[LimitInfo, Depends(RateLimit("100/minute"))]) -> int:
    ...     return info.remaining
    """

    def __init__(
        self,
        limits: Limits[Any],
        *,
        limiter: LimiterLike = OF_MIDDLEWARE,
        key: str | Callable[[Any], Given[object]] | params.Depends | None = None,
        **options: Unpack[LimitOptions[Any]],
    ) -> None:
        asked = key if isinstance(key, params.Depends) else None
        if asked is not None and asked.dependency is None:
            raise LimitError("key must be Depends of a function, got Depends()", "", "key", "Depends()")
        self.asks_dependency = asked is not None
        own = None if isinstance(key, params.Depends) else key
        self.guard: Guard[Any] = AsgiRoom.guard(limits, key=own, **options)
        self.store: Store | None = None if limiter is OF_MIDDLEWARE else store_of(limiter)
        place = inspect.Parameter("connection", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=HTTPConnection)
        parameters = [place]
        if self.asks_dependency:
            parameters.append(place.replace(name="key", annotation=Any, default=key))
        self.__signature__ = inspect.Signature(parameters)

    async def __call__(self, connection: HTTPConnection, key: Any = None) -> LimitInfo:
        """Decides, with the limits beside it, and raises ``RateLimited`` for a denied request."""
        scope = connection.scope
        record: Record | None = scope.get(KEY)
        if record is None:
            record = self._unaccompanied(connection)
        decided: dict[RateLimit, Decided] | None = record.dependencies
        if decided is None:
            decided = record.dependencies = {}
        elif self in decided:
            return self._answer(decided[self])
        room = record.room
        if room.documented is not scope["app"]:
            room.documented = scope["app"]
            document(room.documented)
        plan = plan_of(scope, room)
        limits = None if plan is None else plan.simple.get(self)
        if limits is None:
            return self._answer(await self._decide(record, plan, connection, key))
        try:
            info = decided[self] = record.limit_client(scope, limits)
        except TidegateError as error:
            raise failure(error, room, scope) from error.__cause__
        if info.blocked:
            await self._refuse(record, record.decisions[-1], connection)
        return info

    def _answer(self, found: Decided) -> LimitInfo:
        answer = found.answer(self.guard) if isinstance(found, Decision) else found
        return NO_LIMIT if answer is None else answer

    async def _decide(self, record: Record, plan: Plan | None, connection: HTTPConnection, key: Any) -> Decision | None:
        scope, room = connection.scope, record.room
        group = [self]
        if plan is not None:
            # One that the endpoint calls by itself is in no group.
            group = [] if self in plan.left_out else plan.groups.get(self, group)
        overridden = getattr(scope.get("app"), "dependency_overrides", None) or ()
        parts: list[Part] = []
        decision = None
        try:
            for one in group:
                if one is self or one not in overridden:
                    place = _APP if plan is None else plan.place(one)
                    part = await room.part(one.guard, connection, place, key if one.asks_dependency else ASK)
                    parts += [] if part is None else [part]
            if parts:
                decision = await decide(self.store or room.store, parts, True)
        except TidegateError as error:
            raise failure(error, room, scope) from error.__cause__
        if decision is not None and decision.holds and not decision.blocked and not record.is_carried:
            await decision.end(True)
            raise unreleased("RateLimitMiddleware")
        record.dependencies.update(dict.fromkeys([self, *group], decision))
        if decision is not None:
            is_denied = record.keep(scope, decision)
            await decision.tell_shadowed(connection)
            if is_denied:
                await self._refuse(record, decision, connection)
        return decision

    async def _refuse(self, record: Record, decision: Decision, connection: HTTPConnection) -> None:
        response = await decision.response(connection)
        if response is None:
            raise refusal_of(record, connection, decision.info)
        register(connection.scope)
        raise AnsweredError(partial(record.answer, response))

    def _unaccompanied(self, connection: HTTPConnection) -> Record:
        """A record where there is no middleware: limits hold, and headers are sent with refusals alone."""
        app = connection.scope["app"]
        room: AsgiRoom | None = getattr(app.state, "_tidegate", None)
        if room is None:
            room = app.state._tidegate = AsgiRoom()
        room.gate.report("middleware-missing", "app.add_middleware(RateLimitMiddleware, …)")
        record: Record = connection.scope.setdefault(KEY, Record(room))
        record.is_carried = False
        return record

    def settle(self, connection: HTTPConnection, cost: int) -> bool:
        """Notes what a request really cost this limit. See ``tidegate.fastapi.settle``."""
        return settle(connection, cost, self.guard)

    def __repr__(self) -> str:
        return f"RateLimit({str(self.guard)!r})"
