"""Holds of event loops, and denials of holds. A hold of a thread is native as a whole."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ._errors import StoreError, TidegateError
from ._loop import Event, event, finish, renewals
from ._tidegate import LimitInfo, _Hold

__all__ = ["AsyncHeld", "BlockedError"]


class BlockedError(TidegateError, RuntimeError):
    """A denial of a hold, or of a request of an HTTP client: there was no room for it within its ``max_wait``.

    >>> from tidegate import BlockedError, Concurrency, Limiter
    >>> limiter, exports = Limiter(), Concurrency("exports", max=1, lease=60_000)
    >>> with limiter.hold(exports, "ada"):
    ...     try:
    ...         limiter.hold(exports, "ada").__enter__()
    ...     except BlockedError as error:
    ...         print(error.info.key, 59 < error.retry_after <= 60)
    exports True
    """

    info: LimitInfo
    """The answer of the call."""
    retry_after: float
    """The seconds after which the same call fits at the latest, if nothing else happens."""

    def __init__(self, info: LimitInfo) -> None:
        self.info, self.retry_after = info, info.reset_ms / 1000
        super().__init__(f'limit "{info.key}" has no room: retry after {self.retry_after:g} s')

    def __reduce__(self) -> Any:
        return type(self), (self.info,)


class AsyncHeld(_Hold):
    """Units that an ``async with`` block holds: see ``AsyncLimiter.hold``.

    >>> import asyncio
    >>> from tidegate import AsyncLimiter, Concurrency
    >>> async def main():
    ...     limiter, exports = AsyncLimiter(), Concurrency("exports", max=3, lease=60_000)
    ...     async with limiter.hold(exports, "ada", max_wait=5) as held:
    ...         return held.lost, (await limiter.peek(exports, "ada")).remaining
    >>> asyncio.run(main())
    (False, 2)
    """

    # The future of a renewal that is under way.
    _renewing: Any = None

    @classmethod
    def _of(cls, limiter: Any, info: LimitInfo) -> AsyncHeld:
        """Hold what the call of this answer took just now."""
        held = cls(limiter._limiter, limiter._calls)
        held._start(info, renewals())
        return held

    @property
    def lost_event(self) -> Event:
        """Set when the units could not be renewed in time: others may have them."""
        made: Event = self._lost_event(event)
        return made

    async def __aenter__(self) -> AsyncHeld:
        calls = renewals()
        answer = self._enter(calls)
        if answer is not None:
            self._start(await finish(answer), calls)
        return self

    def _due(self) -> None:
        """Renew; called by the loop."""
        answer = self._renew()
        if answer is not None:
            # No task awaits it: a program that cancels all tasks at its end would cancel it.
            self._renewing = answer
            answer.add_done_callback(self._note_renewal)

    def _note_renewal(self, renewal: Any) -> None:
        self._renewing = None
        has_failed = renewal.cancelled() or renewal.exception() is not None
        self._renewed(None if has_failed else renewal.result())

    async def release(self) -> LimitInfo:
        """Release the units now; the end of the block, or a second call, then does nothing."""
        answer = self._end()
        info: LimitInfo = answer if isinstance(answer, LimitInfo) else await answer
        return info

    def _end(self) -> Any:
        """Begin to release them; returns the answer, or what is to be awaited."""
        return self._release() if self._renewing is None else self._release_later()

    def _release_later(self) -> Any:
        """Release them after the renewal that is under way: they would be others by then."""
        import asyncio

        async def release(renewing: Any) -> LimitInfo:
            await asyncio.wait([renewing])
            return await self.release()

        return asyncio.shield(asyncio.ensure_future(release(self._renewing)))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        try:
            # Begun before anything is awaited, so a task that is cancelled releases them too.
            answer = self._leave() if self._renewing is None else self._release_later()
            if answer is not None:
                await answer
        except StoreError:
            # The lease gives them back. The error of the block matters more.
            if error is None:
                raise
