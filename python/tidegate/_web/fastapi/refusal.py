"""The exception of a denied request, and its response."""

from __future__ import annotations

from typing import Any

import fastapi
from fastapi.exception_handlers import http_exception_handler
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from ..._tidegate import LimitInfo
from ..asgi.connection import HasScope
from ..asgi.middleware import POLICY_VIOLATION
from ..asgi.record import Record
from ..asgi.room import accept

__all__ = ["AnsweredError", "RateLimited", "refusal_of"]


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
    """A denied request whose response ``on_blocked`` has made."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


def refusal_of(record: Record, connection: HasScope, info: LimitInfo) -> RateLimited:
    """The exception to raise for a denied request."""
    scope = connection.scope
    refusal = record.room.gate.refusal(record.infos, accept(scope))
    # Of a body, other handlers write their own.
    fields = {name: value for name, value in refusal.headers if not name.lower().startswith("content-")}
    error = RateLimited(info, refusal.status, f"Rate limit exceeded. Retry in {refusal.retry_after} seconds.", fields)
    error.body, error.media_type = refusal.body, refusal.media_type
    register(scope)
    return error


def register(scope: object, error: type[Exception] = RateLimited) -> None:
    """Adds the handlers of our exceptions to an application, where it has none of its own for such responses."""
    handlers, _ = scope["starlette.exception_handlers"]  # type: ignore[index]
    handlers[AnsweredError] = _answer
    own = [found for found in error.__mro__ if found in handlers and found is not Exception]
    if own == [HTTPException] and _is_default(handlers[HTTPException]):
        handlers[error] = _refuse


def _is_default(handler: object) -> bool:
    own = getattr(handler, "__func__", None) is ExceptionMiddleware.http_exception
    return own or handler is http_exception_handler


async def _answer(connection: Request | WebSocket, error: AnsweredError) -> Response | None:
    return await _sendable(connection, error.response)


async def _refuse(connection: Request | WebSocket, error: Any) -> Response | None:
    body = b"" if connection.scope.get("method") == "HEAD" else error.body
    response = Response(body, error.status_code, dict(error.headers or {}), error.media_type)
    return await _sendable(connection, response)


async def _sendable(connection: Request | WebSocket, response: Response) -> Response | None:
    """The response; a websocket whose server cannot send one is closed."""
    if isinstance(connection, WebSocket) and "websocket.http.response" not in connection.scope.get("extensions", {}):
        await connection.close(POLICY_VIOLATION, "rate limit exceeded")
        return None
    return response
