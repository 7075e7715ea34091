"""The limiter of a room: one store with its connections, for sync and async callers; and another for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar, TypeAlias
from weakref import WeakValueDictionary

from .._aio import AsyncLimiter
from .._errors import refused
from .._tidegate import Limiter, LimitInfo, _Names

LimiterLike: TypeAlias = "str | Limiter | AsyncLimiter | Store"
"""A limiter of either kind, or the URL of a store."""

MEMORY = "memory://"
"""The store of an application that names none."""

OF_MIDDLEWARE: Any = type("OfMiddleware", (), {"__repr__": lambda _self: "of the middleware"})()
"""The limiter of a limit that names none: that of the middleware above it. ``None`` is a variable that is not set."""

NO_LIMIT = LimitInfo()
"""The engine's own answer where there is no limit."""


class Store:
    """A ``Limiter`` and an ``AsyncLimiter`` over the same store."""

    stand_in: ClassVar[Any] = None
    """The store that tests have put in the place of all others."""

    def __init__(self, limiter: str | Limiter | AsyncLimiter) -> None:
        if isinstance(limiter, AsyncLimiter):
            self.aio = limiter
        elif isinstance(limiter, Limiter):
            self.aio = AsyncLimiter._over(limiter)
        else:
            self.aio = AsyncLimiter(limiter)
        self.sync = self.aio._limiter
        # A call of a store in memory never waits, so it needs no coroutine.
        self.shared = self.sync._shared
        self.waits = self.shared and self.sync.stats().processes == 0
        """Calls may wait for a server; those in memory that processes share are decided on the thread that asks."""
        self.names = _Names()
        """Names that limits as text have by their places, and definitions."""

    def limiter(self, waits: bool) -> Any:
        """The limiter for callers that wait on an event loop, or for others. A store in memory has nobody wait."""
        asked = Store.stand_in or self
        return asked.aio if waits and self.shared else asked.sync

    def __repr__(self) -> str:
        return repr(self.sync)


_stores: WeakValueDictionary[str | int, Store] = WeakValueDictionary()


def store_of(limiter: LimiterLike) -> Store:
    """The store of a limiter or a URL; a shared one is opened once in a process, one in memory each time."""
    if isinstance(limiter, Store):
        return limiter
    if not isinstance(limiter, str | Limiter | AsyncLimiter):
        wanted = "a Limiter, an AsyncLimiter or the URL of a store"
        if limiter is None:
            # Nearly always a variable that is not set. Memory in its place would enforce nothing over all processes.
            wanted += " (leave it out, or give 'memory://', for the memory of this process)"
        raise refused("limiter", f"must be {wanted}", limiter)
    if isinstance(limiter, str) and limiter.startswith("memory:"):
        return Store(limiter)
    # A store keeps its limiter, so the number is its own as long as it is here.
    name = limiter if isinstance(limiter, str) else id(limiter)
    store = _stores.get(name)
    if store is None:
        store = _stores[name] = Store(limiter)
    return store


class _NoLimiter:
    """Limits nothing. What is there already is nothing to wait for."""

    _clock = None

    def limit(self, *_check: object, **_options: object) -> LimitInfo:
        return NO_LIMIT

    limit_all = peek = acquire = observe = refund = limit

    def settle(self, *_charge: object) -> None:
        pass


@contextmanager
def stand_in(limiter: Limiter | AsyncLimiter | None) -> Iterator[None]:
    """Puts a limiter in the place of all others in this process, or none; blocks may be nested."""
    none = SimpleNamespace(sync=_NoLimiter(), aio=_NoLimiter())
    none.aio._limiter = none.sync
    before, Store.stand_in = Store.stand_in, none if limiter is None else Store(limiter)
    try:
        yield
    finally:
        Store.stand_in = before
