"""Exact rate limiting: one engine, shared with Rust and Node, behind a small typed API.

>>> from tidegate import Bucket, Limiter
>>> login = Bucket("login", size=10, drip_rate=1000)
>>> limiter = Limiter()
>>> info = limiter.limit(login, "203.0.113.9")
>>> info.blocked, info.remaining
(False, 9)
"""

import os as _os

from ._aio import AsyncLimiter
from ._errors import ClosedError, Fault, LimitError, LimitsError, StoreError, TidegateError
from ._limits import Limits
from ._stats import Health, Latency, Statistics
from ._tidegate import (
    Bucket,
    Decay,
    Explanation,
    FixedWindow,
    Legacy,
    Limit,
    Limiter,
    LimitInfo,
    SlidingCounter,
    SlidingLog,
    SlidingWindow,
    Smooth,
    Standing,
    TokenBucket,
    __version__,
    _after_fork,
    json_schema,
)
from ._types import Check, Definition, Limited

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_after_fork)

__all__ = [
    "AsyncLimiter",
    "Bucket",
    "Check",
    "ClosedError",
    "Decay",
    "Definition",
    "Explanation",
    "Fault",
    "FixedWindow",
    "Health",
    "Latency",
    "Legacy",
    "Limit",
    "LimitError",
    "LimitInfo",
    "Limited",
    "Limiter",
    "Limits",
    "LimitsError",
    "SlidingCounter",
    "SlidingLog",
    "SlidingWindow",
    "Smooth",
    "Standing",
    "Statistics",
    "StoreError",
    "TidegateError",
    "TokenBucket",
    "__version__",
    "json_schema",
]
