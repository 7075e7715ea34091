"""Exact rate limiting: one engine, shared with Rust and Node, behind a small typed API.

>>> from tidegate import Bucket, Limiter
>>> login = Bucket("login", size=10, drip_rate=1000)
>>> limiter = Limiter()
>>> info = limiter.limit(login, "203.0.113.9")
>>> info.blocked, info.remaining
(False, 9)
"""

from ._aio import AsyncLimiter
from ._errors import LimitError, StoreError
from ._tidegate import (
    Bucket,
    Decay,
    FixedWindow,
    Legacy,
    Limit,
    Limiter,
    LimitInfo,
    SlidingCounter,
    SlidingLog,
    SlidingWindow,
    Smooth,
    TokenBucket,
    __version__,
)

__all__ = [
    "AsyncLimiter",
    "Bucket",
    "Decay",
    "FixedWindow",
    "Legacy",
    "Limit",
    "LimitError",
    "LimitInfo",
    "Limiter",
    "SlidingCounter",
    "SlidingLog",
    "SlidingWindow",
    "Smooth",
    "StoreError",
    "TokenBucket",
    "__version__",
]
