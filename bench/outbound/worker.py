"""One process that calls the server: ``worker.py URL REDIS LIMIT CALLERS SECONDS``, with aiohttp."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import aiohttp

from tidegate import AsyncLimiter
from tidegate.aiohttp import rate_limit


async def main() -> None:
    url, redis, limit, callers, seconds = sys.argv[1:]
    limiter = AsyncLimiter(redis, timeout=5, on_error="raise")
    middleware = rate_limit(json.loads(limit), limiter=limiter)
    await limiter.ping()
    sys.stdin.readline()
    end = time.monotonic() + float(seconds)

    async def call(session: aiohttp.ClientSession) -> None:
        while time.monotonic() < end:
            async with session.get(url) as response:
                await response.read()

    async with aiohttp.ClientSession(middlewares=[middleware]) as session:
        tasks = [asyncio.ensure_future(call(session)) for _ in range(int(callers))]
        await asyncio.wait(tasks, timeout=float(seconds))
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
    for error in done:
        if isinstance(error, Exception):
            raise error
    await limiter.aclose()


if __name__ == "__main__":
    print("ready", flush=True)
    asyncio.run(main())
