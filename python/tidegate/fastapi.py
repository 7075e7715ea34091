"""Rate limiting for FastAPI: a dependency for routes, and the middleware that sets its headers."""

from __future__ import annotations

from typing import Any

from starlette.requests import HTTPConnection, Request

from ._web.asgi.connection import Outcome, Scope
from ._web.asgi.messages import MessageLimit
from ._web.asgi.middleware import RateLimitMiddleware as _Middleware
from ._web.asgi.record import info, settle
from ._web.fastapi.dependency import RateLimit
from ._web.fastapi.openapi import document
from ._web.fastapi.plan import exempt
from ._web.fastapi.refusal import RateLimited

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


class RateLimitMiddleware(_Middleware):
    """The middleware of ``tidegate.asgi``, whose functions get Starlette's ``Request``.

    It serves the ``RateLimit`` dependencies: their limiter, client addresses, headers and settlements. With ``limits``
    it also limits every request by itself.

    >>> from fastapi import FastAPI
    >>> from tidegate.fastapi import RateLimitMiddleware
    >>> app = FastAPI()
    >>> app.add_middleware(RateLimitMiddleware, limiter="memory://", headers="both")
    """

    def request_of(self, scope: Scope) -> Any:
        """The request that functions get."""
        return Request(scope) if scope["type"] == "http" else HTTPConnection(scope)

    def begin(self, scope: Scope) -> None:
        """Looks for mistakes before the first connection is served, and documents the refusals."""
        super().begin(scope)
        if "app" in scope:
            document(scope["app"])
