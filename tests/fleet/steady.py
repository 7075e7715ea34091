"""One process of a fleet that calls steadily, whatever happens; prints every call, and how late its own timers came.

A call is when it began, how long it took, whether it was denied and whether the store did not decide it. Times are
seconds of the system's monotonic clock, which all processes share.
"""

import asyncio
import json
import sys
import time
from datetime import timedelta

from tidegate import AsyncLimiter, Bucket

CALLERS, PAUSE = 4, 0.004


async def main(url: str, seconds: float, size: int, drip_ms: float) -> None:
    limiter = AsyncLimiter(url, timeout=0.1, on_error="local")
    shared = Bucket("steady", size=size, drip_rate=timedelta(milliseconds=drip_ms))
    end = time.monotonic() + seconds
    calls: list[tuple[float, float, bool, bool]] = []
    late = 0.0

    async def ask() -> None:
        nonlocal late
        while (began := time.monotonic()) < end:
            info = await limiter.limit(shared, "everybody")
            answered = time.monotonic()
            calls.append((began, answered - began, info.blocked, info.degraded))
            await asyncio.sleep(PAUSE)
            late = max(late, time.monotonic() - answered - PAUSE)

    await asyncio.gather(*(ask() for _ in range(CALLERS)))
    print(json.dumps({"calls": calls, "late": late}))


asyncio.run(main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
