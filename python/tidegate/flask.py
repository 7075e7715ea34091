"""Rate limiting for Flask: an extension, with decorators for views and blueprints.

>>> from flask import Flask
>>> from tidegate.flask import RateLimit
>>> limiter = RateLimit(Flask("shop"), "memory://", default="100/minute")
"""

from __future__ import annotations

from ._web.flask.extension import RateLimit, info, settle
from ._web.flask.room import RateLimited

__all__ = ["RateLimit", "RateLimited", "info", "settle"]
