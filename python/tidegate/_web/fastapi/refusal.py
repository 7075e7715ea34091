"""The exceptions of requests that are denied or cannot be decided, and their responses."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import fastapi
from fastapi.exception_handlers import http_exception_handler
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from ..._errors import TidegateError
from ..._tidegate import LimitInfo
from ..asgi.connection import ASGIApp, HasScope, Scope
from ..asgi.failure import POLICY_VIOLATION, can_respond, respond
from ..asgi.record import Record
from ..asgi.room import AsgiRoom, accept
from ..failure import RequestError, translated


class RateLimited(fastapi.HTTPException):
    """A denied request, raised by a ``RateLimit`` dependency.

    Without a handler for it, for ``HTTPException`` or for its status, the response is the refusal that the middleware
    would send: problem+json, JSON or text, as the client accepts.
    """

    info: LimitInfo
    """The answer that denied the request."""

    def __init__(self, info: LimitInfo, status_code: int, detail: str, headers: dict[str, str]) -> None:
        super().__init__(status_code, detail, headers)
        self.info = info
        self.body = b""
        self.media_type = ""


class AnsweredError(Exception):
    """A request that is not served, with the response to it, such as that of ``on_blocked``."""

    def __init__(self, response: ASGIApp) -> None:
        super().__init__()
        self.response = response


def refusal_of(record: Record, connection: HasScope, info: LimitInfo) -> RateLimited:
    """The exception to raise for a denied request."""
    scope = connection.scope
    refusal = record.room.gate.refusal(record.infos, accept(scope))
    detail = f"Rate limit exceeded. Retry in {refusal.retry_after} seconds."
    error = RateLimited(info, refusal.status, detail, _fields(refusal.headers))
    error.body, error.media_type = refusal.body, refusal.media_type
    register(scope)
    return error


def _fields(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The fields of a refusal but for those of its body: other handlers write their own."""
    return {name: value for name, value in headers if not name.lower().startswith("content-")}


def register(scope: object, error: type[Exception] = RateLimited) -> None:
    """Adds the handlers of our exceptions to an application, where it has none of its own for such responses."""
    handlers, _ = scope["starlette.exception_handlers"]  # type: ignore[index]
    handlers[AnsweredError] = _answer
    own = [found for found in error.__mro__ if found in handlers and found is not Exception]
    if own == [HTTPException]:
        handler = handlers[HTTPException]
        if getattr(handler, "__func__", handler) in (ExceptionMiddleware.http_exception, http_exception_handler):
            handlers[error] = _refuse


async def _answer(connection: Request | WebSocket, error: AnsweredError) -> ASGIApp | None:
    """The response; a websocket whose server cannot send one is closed, which that to a failure does by itself."""
    is_failure = isinstance(error, TidegateError)
    if isinstance(connection, WebSocket) and not can_respond(connection.scope) and not is_failure:
        await connection.close(POLICY_VIOLATION, "rate limit exceeded")
        return None
    return error.response


async def _refuse(connection: Request | WebSocket, error: Any) -> ASGIApp | None:
    body = b"" if connection.scope.get("method") == "HEAD" else error.body
    response = Response(body, error.status_code, dict(error.headers or {}), error.media_type)
    return await _answer(connection, AnsweredError(response))


def failure(error: TidegateError, room: AsgiRoom, scope: Scope) -> Exception:
    """The exception for an error of a decision."""
    if scope["type"] == "websocket":
        register(scope)
        answered = AnsweredError(partial(respond, room, error))
        return translated(error, lambda: answered, lambda _error: answered)

    def rejected(error: RequestError) -> Any:
        """With the response that the middleware would send."""
        rejection = room.gate.rejection(error.kind, accept(scope))
        made: Any = fastapi.HTTPException(rejection.status, error.sentence, _fields(rejection.headers))
        made.body, made.media_type = rejection.body, rejection.media_type
        return made

    made = translated(error, lambda: fastapi.HTTPException(503), rejected)
    if isinstance(made, RequestError):
        register(scope, type(made))
    return made
