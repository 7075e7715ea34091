"""Responses to requests that could not be decided."""

from __future__ import annotations

import inspect
from http import HTTPStatus
from typing import Any

from ..._errors import StoreError, TidegateError
from ..failure import is_of_client
from .connection import Receive, Scope, Send

__all__ = ["respond"]

TRY_AGAIN_LATER = 1013
POLICY_VIOLATION = 1008


async def respond(error: TidegateError, scope: Scope, receive: Receive, send: Send) -> None:
    """Responds with status 503 where the store failed, and with 400 to an actor that no name can be.

    A handler that a Starlette application has for the error is asked instead: the application itself asks it for errors
    of its routes only. Any other error is raised.
    """
    status = _status(error)
    if status is None:
        raise error
    handler = _handler(scope, type(error))
    if handler is not None:
        await _handled(handler, error, scope, receive, send)
        return
    prefix = ""
    if scope["type"] == "websocket":
        if "websocket.http.response" not in scope.get("extensions", {}):
            code = POLICY_VIOLATION if status < 500 else TRY_AGAIN_LATER
            await send({"type": "websocket.close", "code": code, "reason": status.phrase})
            return
        prefix = "websocket."
    body = status.phrase.encode()
    fields = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
    await send({"type": prefix + "http.response.start", "status": int(status), "headers": fields})
    body = b"" if scope.get("method") == "HEAD" else body
    await send({"type": prefix + "http.response.body", "body": body})


def _status(error: TidegateError) -> HTTPStatus | None:
    if isinstance(error, StoreError):
        return HTTPStatus.SERVICE_UNAVAILABLE
    return HTTPStatus.BAD_REQUEST if is_of_client(error) else None


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
