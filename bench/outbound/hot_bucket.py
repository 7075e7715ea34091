"""One hot bucket over Redis, and 1,000 workers that reserve tokens and settle them: ``hot_bucket.py WHO URL SECONDS``.

Each worker has one operation at a time: it reserves 1,000 tokens of one model and settles 425. The bucket is so large
that nobody waits for room. Prints JSON: operations in a second, the times within which half and 99 % of them end, and
the number of operations that failed, because a lock was not free in time, or that did not end.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

WORKERS = 1000
RESERVED, USED = 1000, 425
SIZE = 10**10

# Seconds after its end that a round waits for operations that have begun.
GRACE = 20

Operation = Callable[[], Awaitable[None]]


async def tidegate(url: str) -> Operation:
    from tidegate import AsyncLimiter, TokenBucket

    tokens = TokenBucket("tokens", count=SIZE, period=60_000)
    # Without a fallback: what is counted here was decided by the server.
    limiter = AsyncLimiter(url, timeout=30, on_error="raise")

    async def operation() -> None:
        info = await limiter.acquire(tokens, "gpt-5", cost=RESERVED, max_wait=60)
        assert not info.blocked
        await limiter.settle(info, USED)

    return operation


async def token_throttle(url: str) -> Operation:
    import redis.asyncio
    from token_throttle import PerModelConfig, Quota, RateLimiter, RedisBackendBuilder, UsageQuotas

    # Connections for all workers; its locks have the bound that it gives them.
    bounds = {"max_connections": WORKERS, "timeout": None, "socket_timeout": 60, "socket_connect_timeout": 60}
    pool = redis.asyncio.BlockingConnectionPool.from_url(url, **bounds)
    backend = RedisBackendBuilder(redis.asyncio.Redis(connection_pool=pool), key_prefix="bench")
    quotas = UsageQuotas([Quota(metric="tokens", limit=SIZE, per_seconds=60)])
    limiter: Any = RateLimiter(PerModelConfig(quotas=quotas), backend=backend)

    async def operation() -> None:
        async with limiter.reserve({"tokens": RESERVED}, model="gpt-5") as handle:
            handle.set_actual_usage({"tokens": USED})

    return operation


CONTENDERS = {"tidegate": tidegate, "token-throttle": token_throttle}


async def main(who: str, url: str, seconds: float) -> None:
    operation = await CONTENDERS[who](url)
    # Connections are made and scripts are loaded before.
    await operation()
    times: list[float] = []
    failed = 0
    start = time.perf_counter()

    async def worker() -> None:
        nonlocal failed
        while (began := time.perf_counter()) < start + seconds:
            try:
                await operation()
            except Exception:  # noqa: PERF203
                failed += 1
            else:
                times.append(time.perf_counter() - began)

    # An operation that has begun is waited for, so that slow ones count, but not for ever.
    workers = [asyncio.ensure_future(worker()) for _ in range(WORKERS)]
    _, unfinished = await asyncio.wait(workers, timeout=seconds + GRACE)
    took = time.perf_counter() - start
    failed += len(unfinished)
    if not times:
        times.append(took)
    times.sort()
    half, most = (1000 * times[int(len(times) * part)] for part in (0.5, 0.99))
    print(json.dumps({"per_second": len(times) / took, "p50_ms": half, "p99_ms": most, "failed": failed}), flush=True)
    # What is unfinished would go on to give its locks back.
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
