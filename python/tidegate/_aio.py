"""The limiter for asyncio.

In memory there is nothing to wait for but turns, so every call is the synchronous one with a finished coroutine around
it: no event loop is asked for, no thread and no runtime is started.

Over a shared store a call is begun at once, and what is not known by then is awaited as a future of the running loop.
Answers come over one socket that the loop watches, many at a time; no thread is started for any of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, overload

from ._loop import refuse_trio, rest, sleep
from ._stats import Health, Statistics
from ._tidegate import (
    Limiter,
    LimitInfo,
    Standing,
    _begin,
    _begin_acquire,
    _begin_all,
    _begin_explain,
    _begin_refund,
    _begin_reset,
    _begin_settle,
)
from ._types import Check, Limited, LimiterOptions

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

__all__ = ["AsyncLimiter"]

# A task whose answers are all there at once looks after so many of them whether others should run.
AT_ONCE = 100


class AsyncLimiter:
    """A ``Limiter`` whose calls are coroutines, for asyncio and for loops that stand in for its own, such as uvloop.

    It takes the same arguments, answers the same and raises the same. Over a shared store no call blocks its loop. Any
    number of loops may use one, one after the other or each in a thread of its own. A call that is cancelled while it
    is awaited may still be charged; only an ``acquire`` that is cancelled is refunded, once. Trio runs one in memory
    alone.

    >>> import asyncio
    >>> from tidegate import AsyncLimiter, Bucket
    >>> async def main():
    ...     info = await AsyncLimiter().limit(Bucket("login", size=10), "203.0.113.9")
    ...     return info.remaining
    >>> asyncio.run(main())
    9
    """

    __slots__ = ("__weakref__", "_at_once", "_limiter", "_rested", "_shared")

    def __init__(self, url: str | Callable[[], str] = "memory://", **options: Unpack[LimiterOptions]) -> None:
        self._limiter = Limiter(url, **options)
        self._shared = self._limiter._shared
        self._at_once = AT_ONCE
        self._rested = 0.0
        if self._shared:
            refuse_trio()

    async def _rest(self) -> None:
        self._at_once = AT_ONCE
        self._rested = await rest(self._rested)

    async def limit(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo:
        """Charge ``cost`` units to ``actor`` if they fit, and say so. See ``Limiter.limit``."""
        self._at_once -= 1
        if self._at_once < 0:
            await self._rest()
        if self._shared:
            answer = _begin(self._limiter, "limit", limit, actor, cost, factor, now, context)
            return answer if isinstance(answer, LimitInfo) else await answer
        return self._limiter.limit(limit, actor, cost, factor, now, context=context)

    async def peek(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo:
        """Say what ``limit`` would; charge nothing."""
        self._at_once -= 1
        if self._at_once < 0:
            await self._rest()
        if self._shared:
            answer = _begin(self._limiter, "peek", limit, actor, cost, factor, now, context)
            return answer if isinstance(answer, LimitInfo) else await answer
        return self._limiter.peek(limit, actor, cost, factor, now, context=context)

    async def charge(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo:
        """Charge ``cost`` units even where they do not fit, as for use that is paid afterwards."""
        self._at_once -= 1
        if self._at_once < 0:
            await self._rest()
        if self._shared:
            answer = _begin(self._limiter, "charge", limit, actor, cost, factor, now, context)
            return answer if isinstance(answer, LimitInfo) else await answer
        return self._limiter.charge(limit, actor, cost, factor, now, context=context)

    @overload
    async def refund(self, limit: LimitInfo, actor: None = None, *, now: float | None = None) -> LimitInfo: ...
    @overload
    async def refund(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo: ...
    async def refund(
        self,
        limit: Any,
        actor: Any = None,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> LimitInfo:
        """Give ``cost`` units back, never below empty, or what the call of an answer was charged, once."""
        self._at_once -= 1
        if self._at_once < 0:
            await self._rest()
        if not self._shared:
            return self._limiter.refund(limit, actor, cost, factor, now, context=context)
        if isinstance(limit, LimitInfo):
            answer = _begin_refund(self._limiter, limit, actor, cost, factor, now)
            return answer if isinstance(answer, LimitInfo) else await answer
        answer = _begin(self._limiter, "refund", limit, actor, cost, factor, now, context)
        return answer if isinstance(answer, LimitInfo) else await answer

    async def settle(self, info: LimitInfo, cost: int | Sequence[int], now: float | None = None) -> LimitInfo:
        """Make of what the call of ``info`` was charged what was used, once. See ``Limiter.settle``."""
        self._at_once -= 1
        if self._at_once < 0:
            await self._rest()
        if self._shared:
            answer = _begin_settle(self._limiter, info, cost, now)
            return answer if isinstance(answer, LimitInfo) else await answer
        return self._limiter.settle(info, cost, now)

    async def explain(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        context: Any = None,
    ) -> Standing:
        """Say why ``limit`` would answer what it would now; charge nothing."""
        self._at_once -= 1
        if self._at_once < 0:
            await self._rest()
        if self._shared:
            answer = _begin_explain(self._limiter, limit, actor, cost, factor, now, context)
            return answer if isinstance(answer, Standing) else await answer
        return self._limiter.explain(limit, actor, cost, factor, now, context=context)

    async def reset(self, limit: Limited, actor: str, *, context: Any = None) -> None:
        """Remove what was charged to this actor; of several limits all at once."""
        self._at_once -= 1
        if self._at_once < 0:
            await self._rest()
        if self._shared:
            done = _begin_reset(self._limiter, limit, actor, context)
            return None if done is None else await done
        return self._limiter.reset(limit, actor, context=context)

    async def acquire(
        self,
        limit: Limited,
        actor: str,
        cost: int = 1,
        factor: float = 1.0,
        now: float | None = None,
        *,
        max_wait: float | timedelta | None = None,
        context: Any = None,
    ) -> LimitInfo:
        """Wait for a turn, at most ``max_wait``, without holding a thread. See ``Limiter.acquire``.

        A wait that is cancelled is refunded, once.

        >>> import asyncio
        >>> from tidegate import AsyncLimiter, Bucket
        >>> async def main():
        ...     limiter, mail = AsyncLimiter(), Bucket("mail", size=1, drip_rate=20)
        ...     infos = await asyncio.gather(*(limiter.acquire(mail, "ada") for message in range(3)))
        ...     return [info.wait_ms > 0 for info in infos]
        >>> asyncio.run(main())
        [False, True, True]
        """
        self._at_once -= 1
        if self._at_once < 0:
            await self._rest()
        if self._shared:
            waiting = _begin_acquire(self._limiter, limit, actor, cost, factor, now, max_wait, context)
            try:
                return await waiting.future
            except BaseException:
                waiting.give_up()
                raise
        if now is not None or self._limiter._clocked:
            return self._limiter.acquire(limit, actor, cost, factor, now, max_wait=max_wait, context=context)
        turn = self._limiter._start_acquire(limit, actor, cost, factor, max_wait, context)
        try:
            while not isinstance(step := turn.step(), LimitInfo):
                await sleep(step)
        except BaseException:
            turn.give_up()
            raise
        return step

    async def limit_all(self, checks: Sequence[Check], now: float | None = None, *, context: Any = None) -> LimitInfo:
        """Decide several checks for several actors together, all or nothing. See ``Limiter.limit_all``."""
        self._at_once -= 1
        if self._at_once < 0:
            await self._rest()
        if self._shared:
            answer = _begin_all(self._limiter, "limit", checks, now, context)
            return answer if isinstance(answer, LimitInfo) else await answer
        return self._limiter.limit_all(checks, now, context=context)

    async def peek_all(self, checks: Sequence[Check], now: float | None = None, *, context: Any = None) -> LimitInfo:
        """Say what ``limit_all`` would; charge nothing."""
        self._at_once -= 1
        if self._at_once < 0:
            await self._rest()
        if self._shared:
            answer = _begin_all(self._limiter, "peek", checks, now, context)
            return answer if isinstance(answer, LimitInfo) else await answer
        return self._limiter.peek_all(checks, now, context=context)

    def stats(self) -> Statistics:
        """What it has done with a shared store in this process. See ``Limiter.stats``."""
        return self._limiter.stats()

    async def ping(self) -> Health:
        """Have the store decide once and say how fit it is. See ``Limiter.ping``."""
        health: Health = await self._aside(self._limiter.ping)
        return health

    async def clear(self) -> int:
        """Remove every entry of this limiter's namespace. See ``Limiter.clear``."""
        removed: int = await self._aside(self._limiter.clear)
        return removed

    async def _aside(self, call: Callable[[], Any]) -> Any:
        """What nobody asks for often may take a thread, over a shared store."""
        if not self._shared:
            return call()
        import asyncio

        return await asyncio.to_thread(call)

    @property
    def entries(self) -> int:
        """How many entries actors have of their own now, drained ones that have not been dropped yet included."""
        return self._limiter.entries

    @property
    def evictions(self) -> int:
        """How many entries that had drained were dropped at once because the store was full."""
        return self._limiter.evictions

    @property
    def overflowed(self) -> int:
        """How many calls were decided by an entry that is shared with others, because the store was full."""
        return self._limiter.overflowed

    def close(self) -> None:
        """End its connections; later calls raise ``ClosedError``. It waits for nothing and needs no loop."""
        self._limiter.close()

    async def aclose(self) -> None:
        """Do what ``close`` does, for ``contextlib.aclosing`` and the like."""
        self._limiter.close()

    async def __aenter__(self) -> AsyncLimiter:
        self._limiter.__enter__()
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._limiter.close()

    def __repr__(self) -> str:
        return f"<Async{repr(self._limiter)[1:]}"

    def __copy__(self) -> AsyncLimiter:
        self._limiter.__copy__()
        return self

    def __deepcopy__(self, memo: object, /) -> AsyncLimiter:
        return self.__copy__()

    def __reduce__(self) -> Any:
        from functools import partial

        make, arguments = self._limiter.__reduce__()
        return partial(type(self), **make.keywords), arguments
