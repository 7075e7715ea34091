"""One process of a fleet: many holds under way of ten places, for so long; prints its first instant and all holds.

Times are those of the server's clock. Without seconds it takes all places, says so, and keeps them.
"""

import asyncio
import json
import sys
import time
from contextlib import suppress

from redis.asyncio import Redis

from tidegate import AsyncLimiter, BlockedError, Concurrency

PLACES, LEASE, WORK = 10, 2.0, 0.4
LIMIT = Concurrency("places", max=PLACES, lease=LEASE * 1000)


async def work(url: str, under_way: int, seconds: float) -> None:
    limiter, server = AsyncLimiter(url, timeout=5, on_error="raise"), Redis.from_url(url)
    inside: list[tuple[float, float]] = []
    lost = 0

    async def now() -> float:
        second, micros = await server.time()
        return float(second) + float(micros) / 1e6

    async def again_and_again(end: float) -> None:
        nonlocal lost
        while (left := end - time.monotonic()) > 0:
            with suppress(BlockedError):
                async with limiter.hold(LIMIT, "everybody", max_wait=left) as held:
                    began = await now()
                    await asyncio.sleep(WORK)
                    inside.append((began, await now()))
                    lost += held.lost

    first, end = await now(), time.monotonic() + seconds
    await asyncio.gather(*(again_and_again(end) for _ in range(under_way)))
    print(json.dumps({"inside": inside, "lost": lost, "first": first}))


async def keep(url: str) -> None:
    limiter = AsyncLimiter(url, timeout=5, on_error="raise")
    for _ in range(PLACES):
        await limiter.hold(LIMIT, "everybody").__aenter__()
    print("held", flush=True)
    await asyncio.sleep(60)


url, *arguments = sys.argv[1:]
asyncio.run(work(url, int(arguments[0]), float(arguments[1])) if arguments else keep(url))
