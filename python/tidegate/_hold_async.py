"""Holds of an event loop."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

from ._errors import StoreError, TidegateError
from ._hold import Hold
from ._loop import Event, event, finish, later
from ._tidegate import LimitInfo

__all__ = ["AsyncHeld"]


class AsyncHeld(Hold):
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

    __slots__ = ("_begun", "_calls", "_renewing", "_timer")

    def __init__(self, limiter: Any, *arguments: Any) -> None:
        super().__init__(limiter, *arguments)
        self._calls = limiter._calls
        self._begun = False
        self._timer: Any = None
        self._renewing: Any | None = None

    @classmethod
    def _of(cls, limiter: Any, info: LimitInfo) -> AsyncHeld:
        """Hold what the call of this answer took just now."""
        held = cls(limiter)
        held._start(info, time.monotonic())
        return held

    @property
    def lost_event(self) -> Event:
        """Set when the units could not be renewed in time: others may have them."""
        if self._lost_event is None:
            self._lost_event = event()
            if self._lost:
                self._lost_event.set()
        made: Event = self._lost_event
        return made

    async def __aenter__(self) -> AsyncHeld:
        if self._begun:
            raise RuntimeError("this hold has begun before: make one for each block")
        self._begun = True
        began = time.monotonic()
        answer = self._calls._enter(*self._arguments)
        info = answer if isinstance(answer, LimitInfo) else await finish(answer)
        self._start(info, time.monotonic() if info.wait_ms else began)
        return self

    def _start(self, info: LimitInfo, began: float) -> None:
        self._timer = later(self._begin(info, began), self._due)

    def _due(self) -> None:
        """Renew; called by the loop."""
        self._timer = None
        if self._over or not self._is_ours():
            return
        began = time.monotonic()
        try:
            answer = self._calls.renew(self._receipt)
        except TidegateError:
            self._go_on(None, began)
        else:
            if isinstance(answer, LimitInfo):
                self._go_on(answer, began)
            else:
                import asyncio

                self._renewing = asyncio.ensure_future(self._await_renewal(answer, began))

    async def _await_renewal(self, answer: Any, began: float) -> None:
        try:
            info = await answer
        except TidegateError:
            info = None
        self._renewing = None
        self._go_on(info, began)

    def _go_on(self, info: LimitInfo | None, began: float) -> None:
        seconds = self._renewed(info, began)
        if self._over:
            return
        if seconds is None:
            self._lose()
        else:
            self._timer = later(seconds, self._due)

    async def release(self) -> LimitInfo:
        """Release the units now; the end of the block, or a second call, then does nothing."""
        answer = self._release()
        info: LimitInfo = answer if isinstance(answer, LimitInfo) else await answer
        return info

    def _release(self) -> Any:
        """Begin to release; the answer, or what will be."""
        if self._over or not self._is_ours():
            return self.info
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._renewing is None:
            # Begun before anything is awaited, so a task that is cancelled releases them too.
            return self._end(self._calls)
        import asyncio

        # Not while they are renewed: the units would be others by then.
        return asyncio.shield(asyncio.ensure_future(self._release_after(self._renewing)))

    async def _release_after(self, renewing: Any) -> LimitInfo:
        import asyncio

        await asyncio.wait([renewing])
        answer = self._end(self._calls)
        info: LimitInfo = answer if isinstance(answer, LimitInfo) else await answer
        return info

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        try:
            answer = self._release()
            if not isinstance(answer, LimitInfo):
                await answer
        except StoreError:
            # The lease gives them back. The error of the block matters more.
            if error is None:
                raise

    def __repr__(self) -> str:
        state = "over" if self._over else "lost" if self.lost else "held" if self._begun else "new"
        return f"<AsyncHeld {state}>"
