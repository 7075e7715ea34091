"""The limiter of a room: one store with its connections, for sync and async callers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias
from weakref import WeakValueDictionary

from .._aio import AsyncLimiter
from .._errors import LimitError
from .._hold import Held
from .._hold_async import AsyncHeld
from .._tidegate import Limit, Limiter, LimitInfo, _Names

__all__ = ["MEMORY", "OF_MIDDLEWARE", "LimiterLike", "Store", "store_of"]

Planned: TypeAlias = tuple[Any, ...]
"""A check as a limiter takes it."""

LimiterLike: TypeAlias = "str | Limiter | AsyncLimiter | Store"
"""A limiter of either kind, or the URL of a store."""


MEMORY = "memory://"
"""The store of an application that names none."""

OF_MIDDLEWARE: Any = type("OfMiddleware", (), {"__repr__": lambda _self: "of the middleware"})()
"""The limiter of a limit that names none: that of the middleware above it. ``None`` is a variable that is not set."""

# Keys whose definitions are compared; programs have few, unless functions make them of requests.
MOST_KEYS = 10_000


class Store:
    """A ``Limiter`` and an ``AsyncLimiter`` over the same store."""

    __slots__ = ("__weakref__", "_definitions", "aio", "names", "shared", "sync", "waits")

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
        self._definitions: dict[str, Limit] = {}
        self.names = _Names()
        """Names that limits as text have by their places."""

    @property
    def _asked(self) -> Store:
        stand_in: Store | None = Store.stand_in
        return self if stand_in is None else stand_in

    def decide(self, checks: Sequence[Planned]) -> LimitInfo:
        """Decides all checks in one call."""
        limiter = self._asked.sync
        return limiter.limit(*checks[0]) if _is_one(checks) else limiter.limit_all(checks)

    async def decide_async(self, checks: Sequence[Planned]) -> LimitInfo:
        """Decides all checks in one call."""
        limiter = self._asked.aio
        return await (limiter.limit(*checks[0]) if _is_one(checks) else limiter.limit_all(checks))

    def peek(self, check: Planned) -> LimitInfo:
        """The answer that a decision of one check would give."""
        return self._asked.sync.peek(*check)

    def hold(self, info: LimitInfo) -> Held:
        """Renews the units that a call has taken until they are released."""
        return Held._of(self._asked.sync, info)

    def hold_async(self, info: LimitInfo) -> AsyncHeld:
        """The same on the event loop."""
        return AsyncHeld._of(self._asked.aio, info)

    def settle(self, info: LimitInfo, costs: Sequence[int]) -> None:
        """Makes of what a call was charged what was used."""
        self._asked.sync.settle(info, costs)

    async def settle_async(self, info: LimitInfo, costs: Sequence[int]) -> None:
        """Makes of what a call was charged what was used."""
        await self._asked.aio.settle(info, costs)

    def differing(self, limit: Limit) -> Limit | None:
        """An earlier definition with the same key that is another one."""
        first = self._definitions.get(limit.key)
        if first is None:
            if len(self._definitions) < MOST_KEYS:
                self._definitions[limit.key] = limit
            return None
        return None if first == limit else first

    def __repr__(self) -> str:
        return repr(self.sync)


def _is_one(checks: Sequence[Planned]) -> bool:
    # Behind the factor of a check that is not enforced the engine has put ``True``.
    return len(checks) == 1 and len(checks[0]) < 5


_open: WeakValueDictionary[str, Store] = WeakValueDictionary()
_stores: WeakValueDictionary[int, Store] = WeakValueDictionary()


def store_of(limiter: LimiterLike) -> Store:
    """The store of a limiter or a URL; a shared one is opened once in a process, one in memory each time."""
    if isinstance(limiter, Store):
        return limiter
    if isinstance(limiter, Limiter | AsyncLimiter):
        # A store keeps its limiter, so the number is its own as long as it is here.
        number = id(limiter)
        store = _stores.get(number)
        if store is None:
            store = _stores[number] = Store(limiter)
        return store
    if not isinstance(limiter, str):
        wanted = "a Limiter, an AsyncLimiter or the URL of a store"
        if limiter is None:
            # Nearly always a variable that is not set. Memory in its place would enforce nothing over all processes.
            wanted += " (leave it out, or give 'memory://', for the memory of this process)"
        raise LimitError(f"limiter must be {wanted}, got {limiter!r}", "", "limiter", repr(limiter))
    if limiter.startswith("memory:"):
        return Store(limiter)
    store = _open.get(limiter)
    if store is None:
        store = _open[limiter] = Store(limiter)
    return store
