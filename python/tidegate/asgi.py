"""Rate limiting for ASGI applications: a pure middleware, a limit for websocket messages, and settlement.

>>> from tidegate.asgi import RateLimitMiddleware
>>> async def app(scope, receive, send): ...
>>> limited = RateLimitMiddleware(app, limits="100/minute")
"""

from __future__ import annotations

from ._web.asgi.connection import Outcome, Request
from ._web.asgi.messages import MessageLimit
from ._web.asgi.middleware import RateLimitMiddleware
from ._web.asgi.record import info, settle

__all__ = ["MessageLimit", "Outcome", "RateLimitMiddleware", "Request", "info", "settle"]
