"""The event loop that runs an ``AsyncLimiter``: asyncio, one that stands in for it, or in memory also trio."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any, Protocol

from ._renewals import renewals as of_threads
from ._tidegate import LimitInfo, _AcquireHandle, _AcquireSteps, _Renewals

__all__ = ["Event", "event", "finish", "refuse_trio", "renewals", "rest", "sleep"]

# Seconds for which answers that are known at once may keep other tasks waiting.
LONGEST = 0.002


def _trio() -> Any:
    """Trio, if it runs this code."""
    trio = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_run() else None


def refuse_trio() -> None:
    """Raise if trio runs this code: replies of a shared store come through a loop of asyncio."""
    if _trio() is not None:
        raise RuntimeError(
            "AsyncLimiter over a shared store needs asyncio and does not support trio: "
            "call a Limiter in a thread, as in trio.to_thread.run_sync(limiter.limit, limit, actor)"
        )


def _ticks() -> bool:
    """Return false where a test has frozen the time of this process."""
    return isinstance(time.monotonic, BuiltinFunctionType)


async def sleep(seconds: float) -> None:
    """Sleep at most this long, in real time."""
    trio = _trio()
    if trio is not None:
        await trio.sleep(seconds)
        return
    # Programs that never wait never pay for this import.
    import asyncio

    if _ticks():
        await asyncio.sleep(seconds)
    else:
        # The timers of the loop stand still too.
        time.sleep(min(seconds, 0.001))
        await asyncio.sleep(0)


async def rest(since: float) -> float:
    """Let other tasks run, unless they could ``since`` an instant just now; return the last such instant."""
    if _ticks() and time.monotonic() - since < LONGEST:
        return since
    trio = _trio()
    asyncio = sys.modules.get("asyncio")
    if trio is not None:
        await trio.lowlevel.checkpoint()
    elif asyncio is not None and asyncio._get_running_loop() is not None:
        await asyncio.sleep(0)
    return time.monotonic()


class Event(Protocol):
    """An event of asyncio's, or of trio's."""

    def is_set(self) -> bool:
        """Return true once it is set."""

    def set(self) -> None:
        """Set it."""

    async def wait(self) -> Any:
        """Wait until it is set."""


def event() -> Event:
    """Return an event for tasks of the loop that runs this code."""
    trio = _trio()
    if trio is not None:
        made: Event = trio.Event()
        return made
    import asyncio

    return asyncio.Event()


class _Timer:
    """The timer of one loop, for all renewals of what its tasks hold."""

    def __init__(self, later: Callable[[float, Callable[[], None]], Any]) -> None:
        self.renewals = _Renewals(self._wake)
        self._later = later
        self._timer: Any = None

    def _wake(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._later(seconds, self._ring)

    def _ring(self) -> None:
        self._timer = None
        seconds = self.renewals.run()
        if seconds is not None:
            self._wake(seconds)


class _TrioTimer:
    """A call in the loop of trio, which has no such timers."""

    def __init__(self, token: Any, seconds: float, call: Callable[[], None]) -> None:
        self._token, self._call = token, call
        self._place = of_threads.calls.add(seconds, self)

    def _due(self) -> None:
        # A loop that has ended has no tasks that hold anything.
        with contextlib.suppress(RuntimeError):
            self._token.run_sync_soon(self._call)

    def cancel(self) -> None:
        """Call it no more, unless it is due already."""
        of_threads.calls.discard(self._place)


class _Latest(threading.local):
    """The loop that ran last in this thread, and its renewals: together, because a look into a thread takes long."""

    seen: tuple[Any, _Renewals | None] = (None, None)


_latest = _Latest()


def renewals() -> _Renewals:
    """Return the renewals of the loop that runs this code."""
    trio = _trio()
    if trio is not None:
        loop = trio.lowlevel.current_trio_token()
    elif (asyncio := sys.modules.get("asyncio")) is not None:
        # To import it again would take longer than all the rest.
        loop = asyncio.get_running_loop()
    else:
        raise RuntimeError("no running event loop")
    latest, calls = _latest.seen
    if calls is None or latest is not loop:
        calls = _Timer(loop.call_later if trio is None else functools.partial(_TrioTimer, loop)).renewals
        _latest.seen = loop, calls
    return calls


class _Rest:
    """Sleeps of a task that waits for units which others hold: a release ends one before its time."""

    def __init__(self, acquire: _AcquireSteps) -> None:
        trio = self._trio = _trio()
        if trio is None:
            import asyncio

            self._loop = asyncio.get_running_loop()
            self._future = self._loop.create_future()
            acquire.on_ring(lambda: self._loop.call_soon_threadsafe(self._end))
        else:
            token, self._event = trio.lowlevel.current_trio_token(), trio.Event()
            acquire.on_ring(lambda: token.run_sync_soon(lambda: self._event.set()))

    def _end(self) -> None:
        if not self._future.done():
            self._future.set_result(None)

    async def sleep(self, seconds: float) -> None:
        """Sleep at most this long, in real time."""
        trio = self._trio
        if trio is not None:
            with trio.move_on_after(seconds):
                await self._event.wait()
            self._event = trio.Event()
        elif _ticks():
            timer = self._loop.call_later(seconds, self._end)
            try:
                await self._future
            finally:
                timer.cancel()
                self._future = self._loop.create_future()
        else:
            await sleep(seconds)


async def finish(acquire: _AcquireHandle | _AcquireSteps) -> LimitInfo:
    """Wait for the answer of an ``acquire``; cancel it where that is interrupted."""
    try:
        if isinstance(acquire, _AcquireHandle):
            return await acquire.future
        rest = None
        while not isinstance(step := acquire.step(), LimitInfo):
            rest = rest or _Rest(acquire)
            await rest.sleep(step)
    except BaseException:
        acquire.cancel()
        raise
    return step
