"""The event loop that runs an ``AsyncLimiter``: asyncio, one that stands in for it, or in memory also trio."""

from __future__ import annotations

import sys
import time
from types import BuiltinFunctionType
from typing import Any

__all__ = ["refuse_trio", "rest", "sleep"]


def _trio() -> Any:
    """Trio, where it runs this code."""
    trio = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_run() else None


def refuse_trio() -> None:
    """Raise where trio runs this code: answers of a shared store come through a loop of asyncio."""
    if _trio() is not None:
        raise RuntimeError(
            "AsyncLimiter over a shared store needs asyncio and does not support trio: "
            "call a Limiter in a thread, as in trio.to_thread.run_sync(limiter.limit, limit, actor)"
        )


async def sleep(seconds: float) -> None:
    """Sleep at most this long, in real time."""
    trio = _trio()
    if trio is not None:
        await trio.sleep(seconds)
        return
    # Programs that never wait never pay for this import.
    import asyncio

    if isinstance(time.monotonic, BuiltinFunctionType):
        await asyncio.sleep(seconds)
    else:
        # A test has frozen the time, and with it the timers of the loop.
        time.sleep(min(seconds, 0.001))
        await asyncio.sleep(0)


async def rest() -> None:
    """Let other tasks run, where there may be any."""
    trio = _trio()
    if trio is not None:
        await trio.lowlevel.checkpoint()
        return
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:
        await asyncio.sleep(0)
