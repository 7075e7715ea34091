"""Rate limiting for Django: a middleware, a decorator for views, and system checks.

In the settings, ``TIDEGATE`` names the stores and the limits of every view:

>>> MIDDLEWARE = ["tidegate.django.RateLimitMiddleware"]
>>> INSTALLED_APPS = ["tidegate.django"]
>>> TIDEGATE = {"default": {"LOCATION": "redis://localhost:6379/0"}, "LIMITS": "100/minute"}
"""

from __future__ import annotations

from .._web.django.decorators import async_limiter, exempt, info, limiter, rate_limit, settle
from .._web.django.middleware import RateLimitMiddleware
from .._web.django.serve import rate_limited

__all__ = [
    "RateLimitMiddleware",
    "async_limiter",
    "exempt",
    "info",
    "limiter",
    "rate_limit",
    "rate_limited",
    "settle",
]
