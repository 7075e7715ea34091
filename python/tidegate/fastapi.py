"""Rate limiting for FastAPI: a dependency for routes, and the middleware that sets its headers."""

from __future__ import annotations

from typing import Any

from fastapi.encoders import ENCODERS_BY_TYPE
from starlette.requests import HTTPConnection, Request

from ._tidegate import LimitInfo
from ._web.asgi.connection import Outcome, Scope
from ._web.asgi.messages import MessageLimit
from ._web.asgi.middleware import RateLimitMiddleware as _Middleware
from ._web.asgi.record import info, settle
from ._web.asgi.room import AsgiRoom
from ._web.fastapi.dependency import RateLimit
from ._web.fastapi.openapi import document
from ._web.fastapi.plan import check_routes, exempt
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


# An endpoint without a type may return its answer.
ENCODERS_BY_TYPE[LimitInfo] = LimitInfo.to_dict


class Room(AsgiRoom[Any]):
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

    def request_of(self, scope: Scope) -> Any:
        """The request that functions get."""
        return Request(scope) if scope["type"] == "http" else HTTPConnection(scope)

    def begin(self, scope: Scope) -> None:
        """Looks for mistakes before the first connection is served, and documents the refusals."""
        if "app" in scope:
            check_routes(scope["app"])
            document(scope["app"])
        super().begin(scope)
