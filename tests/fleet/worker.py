"""One process of a fleet: so many calls at once on one key, for so long; prints how many were admitted."""

import asyncio
import json
import sys
import time

from tidegate import AsyncLimiter, Bucket


async def main(url: str, concurrency: int, seconds: float) -> None:
    limiter = AsyncLimiter(url, timeout=5, on_error="raise", deny_cache=0)
    shared = Bucket("fleet", size=100, drip_rate=10)
    end = time.monotonic() + seconds
    admitted, asked = 0, 0

    async def ask() -> None:
        nonlocal admitted, asked
        while time.monotonic() < end:
            info = await limiter.limit(shared, "everybody")
            asked += 1
            admitted += not info.blocked

    await asyncio.gather(*(ask() for _ in range(concurrency)))
    print(json.dumps({"admitted": admitted, "asked": asked, "clock": time.time()}))


asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
