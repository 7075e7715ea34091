"""A store for ``limits``, and so for Flask-Limiter and slowapi: ``tidegate+redis://…`` or ``tidegate+memory://``.

It is there once this module has been imported. ``async+tidegate+redis://…`` is the twin for ``limits.aio``.

>>> import limits
>>> import tidegate.stores.limits
>>> strategy = limits.strategies.MovingWindowRateLimiter(limits.storage.storage_from_string("tidegate+memory://"))
>>> [strategy.hit(limits.parse("2/minute"), "203.0.113.9") for call in range(3)]
[True, True, False]
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any, TypeVar

import limits.aio.storage as aio
from limits import storage
from limits.limits import GRANULARITIES
from limits.storage.base import TimestampedSlidingWindow

from .._aio import AsyncLimiter
from .._errors import StoreError, refused
from .._tidegate import FixedWindow, Limiter, LimitInfo, SlidingLog
from ._windows import Sliding, sliding

__all__ = ["AsyncTidegateStorage", "TidegateStorage"]

# The store of a fixed window only counts; what is too much is decided by the library.
MOST = 10**12
# Entries of applications that limit with tidegate too stay when the library resets its store.
NAMESPACE = "tidegate-limits"

Limit = TypeVar("Limit", Limiter, AsyncLimiter)

SERVERS = [
    f"{server}{kind}" for server in ("redis", "rediss", "valkey", "valkeys") for kind in ("", "+cluster", "+sentinel")
]
SCHEMES = [f"tidegate+{store}" for store in ("memory", "unix", *SERVERS)]


@lru_cache(1024)
def _fixed(seconds: int) -> FixedWindow:
    return FixedWindow("fixed", max=MOST, period=seconds * 1000, anchor="first-request")


@lru_cache(1024)
def _moving(amount: int, seconds: int) -> SlidingLog:
    # Of a limit that admits nothing the library decides by itself, and asks only for what is counted.
    return SlidingLog("moving", max=max(amount, 1), period=seconds * 1000)


def _of_key(key: str) -> tuple[int, int]:
    """The amount and the seconds that the end of a key says, as limits writes it."""
    try:
        _, amount, multiples, granularity = key.rsplit("/", 3)
        return int(amount), int(multiples) * GRANULARITIES[granularity].GRANULARITY.seconds
    except (KeyError, ValueError):
        raise refused("key", "must be that of a RateLimitItem", key) from None


def _fixed_of(key: str) -> FixedWindow:
    return _fixed(_of_key(key)[1])


def _sliding_of(key: str, seconds: int) -> Sliding:
    return sliding(_of_key(key)[0], seconds)


def _used(info: LimitInfo) -> int:
    return info.quota - info.remaining


def _expiry(info: LimitInfo) -> float:
    """The instant at which the window ends."""
    return time.time() + info.full_reset_ms / 1000


def _window(info: LimitInfo, seconds: int) -> tuple[float, int]:
    """The instant of the oldest call that still counts, and the number of all that do."""
    used, now = _used(info), time.time()
    return (now - seconds + info.next_ms / 1000 if used else now), used


def _given(kind: type[Limit], options: dict[str, Any]) -> Limit | None:
    """The limiter among the options. One that is there but not set must not mean the memory of this process."""
    if "limiter" not in options:
        return None
    given = options.pop("limiter")
    if isinstance(given, kind):
        return given
    raise refused("limiter", f"must be of {kind.__name__}", given)


def _url(uri: str | None, options: dict[str, Any]) -> str:
    options.setdefault("namespace", NAMESPACE)
    scheme, separator, rest = (uri or "tidegate+memory://").partition("://")
    return scheme.rpartition("tidegate+")[2] + separator + rest


class TidegateStorage(
    storage.Storage, storage.MovingWindowSupport, storage.SlidingWindowCounterSupport, TimestampedSlidingWindow
):
    """The storage of ``limits``. ``options`` are those of ``Limiter``, or a ``limiter`` in place of the URL.

    >>> from limits.storage import storage_from_string
    >>> import tidegate.stores.limits
    >>> storage_from_string("tidegate+redis://localhost:6379", timeout=0.2, on_error="deny").limiter
    <Limiter redis://localhost:6379>
    """

    STORAGE_SCHEME = SCHEMES

    limiter: Limiter
    """The limiter that decides and counts."""

    def __init__(self, uri: str | None = None, wrap_exceptions: bool = False, **options: Any) -> None:
        super().__init__(uri, wrap_exceptions)
        self.limiter = _given(Limiter, options) or Limiter(_url(uri, options), **options)

    @property
    def storage(self) -> Limiter:
        """The limiter, by the name under which Flask-Limiter's command ``flask limiter config`` looks for it."""
        return self.limiter

    @property
    def base_exceptions(self) -> type[Exception]:
        """The error of a store that failed."""
        return StoreError

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Counts in the fixed window of a key, and returns the count."""
        return _used(self.limiter.charge(_fixed(expiry), key, amount))

    def get(self, key: str) -> int:
        """Returns the count of a fixed window."""
        return _used(self.limiter.peek(_fixed_of(key), key))

    def get_expiry(self, key: str) -> float:
        """Returns the instant at which a fixed window ends."""
        return _expiry(self.limiter.peek(_fixed_of(key), key))

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Charges a moving window if it fits."""
        return amount <= limit and self.limiter.limit(_moving(limit, expiry), key, amount).allowed

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """Returns the start of a moving window and the calls in it."""
        return _window(self.limiter.peek(_moving(limit, expiry), key), expiry)

    def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Charges a sliding window if it fits."""
        window = sliding(limit, expiry)
        return amount <= limit and self.limiter.limit(window.limit, key, window.cost(amount)).allowed

    def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]:
        """Returns the counts of the windows and the times that they still last."""
        window = _sliding_of(key, expiry)
        return window.counts(self.limiter.peek(window.limit, key, window.probe))

    def clear_sliding_window(self, key: str, expiry: int) -> None:
        """Forgets a sliding window."""
        self.limiter.reset(_sliding_of(key, expiry).limit, key)

    def clear(self, key: str) -> None:
        """Forgets the fixed and the moving window of a key."""
        amount, seconds = _of_key(key)
        self.limiter.reset([_fixed(seconds), _moving(amount, seconds)], key)

    def check(self) -> bool:
        """Says that the store decides calls."""
        try:
            self.limiter.ping()
        except StoreError:
            return False
        # A server that answers again gets no calls until its circuit breaker closes.
        return self.limiter.stats().breaker == "closed"

    def reset(self) -> int:
        """Forgets everything in the limiter's namespace."""
        return self.limiter.clear()


class AsyncTidegateStorage(
    aio.Storage, aio.MovingWindowSupport, aio.SlidingWindowCounterSupport, TimestampedSlidingWindow
):
    """The storage of ``limits.aio``. ``options`` are those of ``AsyncLimiter``, or a ``limiter`` in place of the URL.

    >>> import asyncio
    >>> import limits
    >>> import tidegate.stores.limits
    >>> storage = limits.storage.storage_from_string("async+tidegate+memory://")
    >>> strategy = limits.aio.strategies.FixedWindowRateLimiter(storage)
    >>> asyncio.run(strategy.hit(limits.parse("2/minute"), "203.0.113.9"))
    True
    """

    STORAGE_SCHEME = [f"async+{scheme}" for scheme in SCHEMES]  # noqa: RUF012

    limiter: AsyncLimiter
    """The limiter that decides and counts."""

    def __init__(self, uri: str | None = None, wrap_exceptions: bool = False, **options: Any) -> None:
        super().__init__(uri, wrap_exceptions)
        self.limiter = _given(AsyncLimiter, options) or AsyncLimiter(_url(uri, options), **options)

    @property
    def storage(self) -> AsyncLimiter:
        """The limiter, by the name under which Flask-Limiter's command ``flask limiter config`` looks for it."""
        return self.limiter

    @property
    def base_exceptions(self) -> type[Exception]:
        """The error of a store that failed."""
        return StoreError

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Counts in the fixed window of a key, and returns the count."""
        return _used(await self.limiter.charge(_fixed(expiry), key, amount))

    async def get(self, key: str) -> int:
        """Returns the count of a fixed window."""
        return _used(await self.limiter.peek(_fixed_of(key), key))

    async def get_expiry(self, key: str) -> float:
        """Returns the instant at which a fixed window ends."""
        return _expiry(await self.limiter.peek(_fixed_of(key), key))

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Charges a moving window if it fits."""
        return amount <= limit and (await self.limiter.limit(_moving(limit, expiry), key, amount)).allowed

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """Returns the start of a moving window and the calls in it."""
        return _window(await self.limiter.peek(_moving(limit, expiry), key), expiry)

    async def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Charges a sliding window if it fits."""
        window = sliding(limit, expiry)
        return amount <= limit and (await self.limiter.limit(window.limit, key, window.cost(amount))).allowed

    async def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]:
        """Returns the counts of the windows and the times that they still last."""
        window = _sliding_of(key, expiry)
        return window.counts(await self.limiter.peek(window.limit, key, window.probe))

    async def clear_sliding_window(self, key: str, expiry: int) -> None:
        """Forgets a sliding window."""
        await self.limiter.reset(_sliding_of(key, expiry).limit, key)

    async def clear(self, key: str) -> None:
        """Forgets the fixed and the moving window of a key."""
        amount, seconds = _of_key(key)
        await self.limiter.reset([_fixed(seconds), _moving(amount, seconds)], key)

    async def check(self) -> bool:
        """Says that the store decides calls."""
        try:
            await self.limiter.ping()
        except StoreError:
            return False
        # A server that answers again gets no calls until its circuit breaker closes.
        return self.limiter.stats().breaker == "closed"

    async def reset(self) -> int:
        """Forgets everything in the limiter's namespace."""
        return await self.limiter.clear()
