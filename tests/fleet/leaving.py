"""Two calls to a node that leaves the cluster's map; prints what came of each, and how soon."""

import asyncio
import json
import sys
import time

from tidegate import AsyncLimiter, Bucket, LimitInfo

# So long that a busy machine sends a call on in time.
DEADLINE = 0.6


async def main(url: str) -> None:
    limiter = AsyncLimiter(url, timeout=DEADLINE, on_error="allow")
    limit = Bucket("leaving", size=10, drip_rate=3_600_000)

    async def call(actor: str) -> tuple[bool, float]:
        started = time.monotonic()
        info: LimitInfo = await limiter.limit(limit, actor)
        return info.degraded, time.monotonic() - started

    await asyncio.sleep(DEADLINE)
    held = asyncio.ensure_future(call("held"))
    await asyncio.sleep(DEADLINE / 8)
    moved = asyncio.ensure_future(call("moved"))
    done, pending = await asyncio.wait([held, moved], timeout=DEADLINE + 2)
    print(json.dumps({"answered": [task.result() for task in (held, moved) if task in done], "pending": len(pending)}))


asyncio.run(main(sys.argv[1]))
