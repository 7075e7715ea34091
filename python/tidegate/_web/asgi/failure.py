"""Responses to requests that are denied, and to those that could not be decided."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from ..._errors import StoreError, TidegateError
from ..._tidegate import LimitInfo
from ..drive import value_of
from ..failure import RequestError
from .connection import Receive, Scope, Send
from .room import AsgiRoom, accept

TRY_AGAIN_LATER = 1013
POLICY_VIOLATION = 1008


async def refuse(room: AsgiRoom, infos: LimitInfo | Sequence[LimitInfo], scope: Scope, send: Send) -> None:
    """Sends a refusal of a request, or of a websocket that has not been accepted."""
    refusal = room.gate.refusal(infos, accept(scope))
    closing = POLICY_VIOLATION, "rate limit exceeded"
    await _send(scope, send, refusal.status, refusal.raw_headers, refusal.body, closing)


async def respond(room: AsgiRoom, error: TidegateError, scope: Scope, receive: Receive, send: Send) -> None:
    """Responds with status 503 where the store failed, and with 400 or 413 to a request that cannot be decided.

    A handler that a Starlette application has for the error is asked instead: the application itself asks it for errors
    of its routes only. Any other error is raised.
    """
    if not isinstance(error, StoreError | RequestError):
        raise error
    if await _is_handled(error, scope, receive, send):
        return
    if isinstance(error, RequestError):
        rejection = room.gate.rejection(error.kind, accept(scope))
        status, fields, body = rejection.status, rejection.raw_headers, rejection.body
        closing = POLICY_VIOLATION, HTTPStatus.BAD_REQUEST.phrase
    else:
        reason = HTTPStatus.SERVICE_UNAVAILABLE.phrase
        status, body, closing = HTTPStatus.SERVICE_UNAVAILABLE.value, reason.encode(), (TRY_AGAIN_LATER, reason)
        fields = [(b"content-type", b"text/plain; charset=utf-8")]
    await _send(scope, send, status, fields, body, closing)


def can_respond(scope: Scope) -> bool:
    """A response can be sent: to a request, or to a websocket whose server can."""
    return scope["type"] != "websocket" or "websocket.http.response" in scope.get("extensions", {})


async def _send(scope: Scope, send: Send, status: int, fields: Any, body: bytes, closing: tuple[int, str]) -> None:
    """Sends a response, or closes a websocket that can have none with this code and reason."""
    if not can_respond(scope):
        await send({"type": "websocket.close", "code": closing[0], "reason": closing[1]})
        return
    kind = "http.response" if scope["type"] == "http" else "websocket.http.response"
    headers = [*fields, (b"content-length", b"%d" % len(body))]
    await send({"type": f"{kind}.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.body", "body": b"" if scope.get("method") == "HEAD" else body})


async def _is_handled(error: TidegateError, scope: Scope, receive: Receive, send: Send) -> bool:
    """Asks the handler that an application has for our error; one for all exceptions is for those of the program."""
    # Other frameworks have handlers under the same name, which take other requests. An application of Starlette's has
    # imported it.
    starlette, app = sys.modules.get("starlette.applications"), scope.get("app")
    if starlette is None or not isinstance(app, starlette.Starlette) or scope["type"] != "http":
        return False
    handlers: Any = app.exception_handlers
    classes = type(error).__mro__
    handler = next((handlers[cls] for cls in classes[: classes.index(Exception)] if cls in handlers), None)
    if handler is None:
        return False
    # Here, because the application is Starlette's only now.
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request

    request = Request(scope, receive, send)
    if inspect.iscoroutinefunction(handler):
        response = await handler(request, error)
    else:
        response = await value_of(await run_in_threadpool(handler, request, error))
    await response(scope, receive, send)
    return True
