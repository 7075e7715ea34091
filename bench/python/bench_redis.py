"""``await limiter.limit(LOGIN, actor)`` beside its peers in one run, all over one Redis: ``bench_redis.py URL``.

Prints JSON. Every contender admits every call, in one round trip, over connections that it has made before.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import limits
import redis
import redis.asyncio
from limits.aio.storage import RedisStorage as AsyncRedisStorage
from limits.aio.strategies import FixedWindowRateLimiter as AsyncFixedWindow
from limits.storage import RedisStorage
from limits.strategies import FixedWindowRateLimiter
from measure import Row, Spread

from tidegate import AsyncLimiter, Bucket, Limiter

AT_A_TIME = 512
# Large enough that nothing is denied: a denial is remembered, and not asked for again.
MOST = 10**9
LOGIN = Bucket("login", size=1000)
# What ours may take, relative to the fastest peer.
TARGET = 0.125

# What one writes who needs no more than this: GCRA on the server's clock, in microseconds.
GCRA = """
local time = redis.call('TIME')
local now, interval, burst = time[1] * 1000000 + time[2], tonumber(ARGV[1]), tonumber(ARGV[2])
local due = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now)
local wait = due + interval - now - burst * interval
if wait > 0 then
  return {1, wait}
end
redis.call('SET', KEYS[1], string.format('%.0f', due + interval), 'PX', math.ceil((due + interval - now) / 1000))
return {0, 0}
"""

AsyncCall = Callable[[str], Awaitable[object]]
Call = Callable[[str], object]


async def redis_py_async(url: str) -> AsyncCall:
    client = redis.asyncio.Redis.from_url(url)
    sha = await client.script_load(GCRA)
    # Its type says that it may also be one that does not wait.
    evalsha: Callable[..., Any] = client.evalsha
    return lambda actor: evalsha(sha, 1, f"gcra:{actor}", "1000000", "1000")


async def limits_coredis(url: str) -> AsyncCall:
    hit, item = AsyncFixedWindow(AsyncRedisStorage(f"async+{url}")).hit, limits.RateLimitItemPerDay(MOST)
    return lambda actor: hit(item, actor)


async def limits_redis_py(url: str) -> AsyncCall:
    storage = AsyncRedisStorage(f"async+{url}", implementation="redispy")
    hit, item = AsyncFixedWindow(storage).hit, limits.RateLimitItemPerDay(MOST)
    return lambda actor: hit(item, actor)


ASYNC = {
    "redis-py async EVALSHA": redis_py_async,
    "limits async fixed window, coredis": limits_coredis,
    "limits async fixed window, redis-py": limits_redis_py,
}


def redis_py_sync(url: str) -> Call:
    client = redis.Redis.from_url(url)
    sha = client.script_load(GCRA)
    evalsha: Callable[..., Any] = client.evalsha
    return lambda actor: evalsha(sha, 1, f"gcra:{actor}", "1000000", "1000")


def limits_sync(url: str) -> Call:
    hit, item = FixedWindowRateLimiter(RedisStorage(url)).hit, limits.RateLimitItemPerDay(MOST)
    return lambda actor: hit(item, actor)


SYNC = {"redis-py EVALSHA": redis_py_sync, "limits fixed window, redis-py": limits_sync}


async def in_tasks(call: AsyncCall, actors: Sequence[str], at_a_time: int) -> None:
    async def one_after_the_other(share: Sequence[str]) -> None:
        for actor in share:
            await call(actor)

    await asyncio.gather(*(one_after_the_other(actors[first::at_a_time]) for first in range(at_a_time)))


async def time_async(call: AsyncCall, actors: Sequence[str], at_a_time: int) -> float:
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter_ns()
        await in_tasks(call, actors, at_a_time)
        return (time.perf_counter_ns() - start) / 1000 / len(actors)
    finally:
        gc.enable()


def time_sync(call: Call, actors: Sequence[str]) -> float:
    start = time.perf_counter_ns()
    for actor in actors:
        call(actor)
    return (time.perf_counter_ns() - start) / 1000 / len(actors)


def all_asked(limiter: AsyncLimiter | Limiter) -> None:
    """Checks that the store decided each call: an answer without it comes faster, and is not what is measured."""
    stats = limiter.stats()
    if stats.store_calls != stats.decisions:
        raise SystemExit(f"{stats.decisions - stats.store_calls} decisions were made without the store")


def rows(name: str, times: dict[str, list[float]], target: float | None = None) -> list[Row]:
    """One row a peer, of which the fastest has the target. The first round warms up and is not counted."""
    ours, *theirs = ((name, figures[1:]) for name, figures in times.items())
    spread = Spread.of(ours[1])
    fastest = min(Spread.of(figures).median for _, figures in theirs)
    found = []
    for peer, figures in theirs:
        ratio = Spread.of([one / other for one, other in zip(ours[1], figures)])
        aim = target if Spread.of(figures).median == fastest else None
        found.append(Row(name, spread, (peer, Spread.of(figures), ratio), aim))
    return found


async def async_rows(url: str, name: str, at_a_time: int, count: int, rounds: int, target: float | None) -> list[Row]:
    actors = [f"{at_a_time}:{number:016}" for number in range(count)]
    limiter = AsyncLimiter(url, timeout=2, on_error="raise")
    calls: dict[str, AsyncCall] = {"tidegate": lambda actor: limiter.limit(LOGIN, actor)}
    calls.update({peer: await make(url) for peer, make in ASYNC.items()})
    times: dict[str, list[float]] = {contender: [] for contender in calls}
    for _, (contender, call) in itertools.product(range(rounds + 1), calls.items()):
        times[contender].append(await time_async(call, actors, at_a_time))
    all_asked(limiter)
    return rows(name, times, target)


def sync_rows(url: str, name: str, count: int, rounds: int) -> list[Row]:
    actors = [f"sync:{number:015}" for number in range(count)]
    limiter = Limiter(url, timeout=2, on_error="raise")
    calls: dict[str, Call] = {"tidegate": lambda actor: limiter.limit(LOGIN, actor)}
    calls.update({peer: make(url) for peer, make in SYNC.items()})
    times: dict[str, list[float]] = {contender: [] for contender in calls}
    for _, (contender, call) in itertools.product(range(rounds + 1), calls.items()):
        times[contender].append(time_sync(call, actors))
    all_asked(limiter)
    return rows(name, times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="of a server that nobody else uses")
    url = parser.parse_args().url
    found = [
        *asyncio.run(async_rows(url, f"AsyncLimiter.limit, {AT_A_TIME} at a time", AT_A_TIME, 4096, 9, TARGET)),
        *asyncio.run(async_rows(url, "AsyncLimiter.limit, one at a time", 1, 300, 11, None)),
        *sync_rows(url, "Limiter.limit, one at a time", 300, 11),
    ]
    print(json.dumps({"suite": "python, redis", "rows": [row.json() for row in found]}))


if __name__ == "__main__":
    main()
