"""Responses to requests that could not be decided."""

from __future__ import annotations

import inspect
from http import HTTPStatus
from typing import Any

from ..._errors import StoreError, TidegateError
from ..failure import RequestError
from .connection import Receive, Scope, Send
from .room import AsgiRoom, accept

__all__ = ["respond"]

TRY_AGAIN_LATER = 1013
POLICY_VIOLATION = 1008


async def respond(room: AsgiRoom[Any], error: TidegateError, scope: Scope, receive: Receive, send: Send) -> None:
    """Responds with status 503 where the store failed, and with 400 or 413 to a request that cannot be decided.

    A handler that a Starlette application has for the error is asked instead: the application itself asks it for errors
    of its routes only. Any other error is raised.
    """
    if not isinstance(error, StoreError | RequestError):
        raise error
    handler = _handler(scope, type(error))
    if handler is not None:
        await _handled(handler, error, scope, receive, send)
        return
    is_store = isinstance(error, StoreError)
    prefix = ""
    if scope["type"] == "websocket":
        if "websocket.http.response" not in scope.get("extensions", {}):
            code = TRY_AGAIN_LATER if is_store else POLICY_VIOLATION
            reason = HTTPStatus.SERVICE_UNAVAILABLE if is_store else HTTPStatus.BAD_REQUEST
            await send({"type": "websocket.close", "code": code, "reason": reason.phrase})
            return
        prefix = "websocket."
    if isinstance(error, RequestError):
        rejection = room.gate.rejection(error.kind, accept(scope))
        status, fields, body = rejection.status, rejection.raw_headers, rejection.body
    else:
        status, body = int(HTTPStatus.SERVICE_UNAVAILABLE), HTTPStatus.SERVICE_UNAVAILABLE.phrase.encode()
        fields = [(b"content-type", b"text/plain; charset=utf-8")]
    fields = [*fields, (b"content-length", b"%d" % len(body))]
    await send({"type": prefix + "http.response.start", "status": status, "headers": fields})
    body = b"" if scope.get("method") == "HEAD" else body
    await send({"type": prefix + "http.response.body", "body": body})


def _handler(scope: Scope, kind: type[TidegateError]) -> Any:
    """The handler that an application has for our own error; one for all exceptions is for those of the program."""
    handlers = getattr(scope.get("app"), "exception_handlers", None)
    if not isinstance(handlers, dict) or scope["type"] != "http":
        return None
    classes = kind.__mro__[: kind.__mro__.index(Exception)]
    return next((handlers[cls] for cls in classes if cls in handlers), None)


async def _handled(handler: Any, error: TidegateError, scope: Scope, receive: Receive, send: Send) -> None:
    # Here, because the application is Starlette's only now.
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request

    request = Request(scope, receive, send)
    if inspect.iscoroutinefunction(handler):
        response = await handler(request, error)
    else:
        response = await run_in_threadpool(handler, request, error)
        if inspect.isawaitable(response):
            response = await response
    await response(scope, receive, send)
