"""The event loop that runs an ``AsyncLimiter``: asyncio, one that stands in for it, or in memory also trio."""

from __future__ import annotations

import sys
import time
from types import BuiltinFunctionType
from typing import Any

__all__ = ["refuse_trio", "rest", "sleep"]

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
