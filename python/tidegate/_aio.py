"""The limiter for asyncio.

In memory there is nothing to wait for but turns, so every call is the synchronous one with a finished coroutine around
it: no event loop is asked for, no thread and no runtime is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from ._tidegate import Limiter, LimitInfo, Standing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from typing import Any

    from ._types import Check, Limited

__all__ = ["AsyncLimiter"]


class AsyncLimiter:
    """A ``Limiter`` whose calls are coroutines, for asyncio and for loops that stand in for its own, such as uvloop.

    It takes the same arguments, answers the same and raises the same.

    >>> import asyncio
    >>> from tidegate import AsyncLimiter, Bucket
    >>> async def main():
    ...     info = await AsyncLimiter().limit(Bucket("login", size=10), "203.0.113.9")
    ...     return info.remaining
    >>> asyncio.run(main())
    9
    """

    __slots__ = ("_limiter",)

    def __init__(self, url: str = "memory://", *, namespace: str = "tidegate", max_entries: int = 1_000_000) -> None:
        self._limiter = Limiter(url, namespace=namespace, max_entries=max_entries)

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
        return self._limiter.refund(limit, actor, cost, factor, now, context=context)

    async def settle(self, info: LimitInfo, cost: int | Sequence[int], now: float | None = None) -> LimitInfo:
        """Make of what the call of ``info`` was charged what was used, once. See ``Limiter.settle``."""
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
        return self._limiter.explain(limit, actor, cost, factor, now, context=context)

    async def reset(self, limit: Limited, actor: str, *, context: Any = None) -> None:
        """Forget what was charged to this actor."""
        self._limiter.reset(limit, actor, context=context)

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
        if now is not None:
            return self._limiter.acquire(limit, actor, cost, factor, now, max_wait=max_wait, context=context)
        turn = self._limiter._start_acquire(limit, actor, cost, factor, max_wait, context)
        step = turn.step()
        if not isinstance(step, LimitInfo):
            # Programs that never wait never pay for this import.
            import asyncio

            try:
                while not isinstance(step, LimitInfo):
                    await asyncio.sleep(step)
                    step = turn.step()
            except BaseException:
                turn.give_up()
                raise
        return step

    async def limit_all(self, checks: Sequence[Check], now: float | None = None, *, context: Any = None) -> LimitInfo:
        """Decide several checks for several actors together, all or nothing. See ``Limiter.limit_all``."""
        return self._limiter.limit_all(checks, now, context=context)

    async def peek_all(self, checks: Sequence[Check], now: float | None = None, *, context: Any = None) -> LimitInfo:
        """Say what ``limit_all`` would; charge nothing."""
        return self._limiter.peek_all(checks, now, context=context)

    @property
    def entries(self) -> int:
        """How many entries are kept now, drained ones that have not been dropped yet included."""
        return self._limiter.entries

    @property
    def evictions(self) -> int:
        """How many entries were given up because the store was full."""
        return self._limiter.evictions

    def __repr__(self) -> str:
        return f"<Async{repr(self._limiter)[1:]}"

    def __reduce__(self) -> Any:
        return self._limiter.__reduce__()
