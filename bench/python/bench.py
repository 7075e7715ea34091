"""``limiter.limit(LOGIN, actor)`` beside its peers in one run: a check of an actor's limit, held in memory.

Prints JSON. Ours makes a whole ``LimitInfo`` of each check; the peers answer
with a bool.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Sequence

import limits
import token_bucket
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter, RateLimiter
from measure import Peers, Row, Work, contest

from tidegate import AsyncLimiter, Bucket, Concurrency, Limiter

HOT = "actor:00000000123456"
# Large enough that nothing is denied: a denial is a shorter path for all.
MOST = 10**9
LOGIN = Bucket("login", size=MOST)
EXPORTS = Concurrency("exports", max=3, lease=60_000)
# What ours may take, relative to the fixed window of `limits`.
TARGET = 0.1


def tidegate_limit() -> Work:
    limit = Limiter().limit

    def work(actors: Sequence[str]) -> None:
        for actor in actors:
            limit(LOGIN, actor)

    return work


def limits_hit(strategy: type[RateLimiter]) -> Work:
    hit, item = strategy(MemoryStorage()).hit, limits.RateLimitItemPerDay(MOST)

    def work(actors: Sequence[str]) -> None:
        for actor in actors:
            hit(item, actor)

    return work


def token_bucket_consume() -> Work:
    consume = token_bucket.Limiter(float(MOST), MOST, token_bucket.MemoryStorage()).consume

    def work(actors: Sequence[str]) -> None:
        for actor in actors:
            consume(actor)

    return work


def tidegate_hold() -> Work:
    hold = Limiter().hold

    def work(actors: Sequence[str]) -> None:
        for actor in actors:
            with hold(EXPORTS, actor):
                pass

    return work


def tidegate_async_hold() -> Work:
    hold = AsyncLimiter().hold

    async def all_of(actors: Sequence[str]) -> None:
        for actor in actors:
            async with hold(EXPORTS, actor):
                pass

    return lambda actors: asyncio.run(all_of(actors))


PEERS = {
    "limits fixed window": (lambda: limits_hit(FixedWindowRateLimiter), TARGET),
    "limits moving window": (lambda: limits_hit(MovingWindowRateLimiter), None),
    "token-bucket": (token_bucket_consume, None),
}


def rows(quick: bool) -> list[Row]:
    rounds = 5 if quick else 21
    hot = [HOT] * 2000
    keys = [f"actor:{number:014}" for number in range(10_000 if quick else 100_000)]
    random.Random(1).shuffle(keys)
    # Two calls of the engine, and what renews in between.
    limit: Peers = {"tidegate limit": (tidegate_limit, None)}
    return [
        *contest("a hold and its end", rounds, hot, tidegate_hold, limit),
        *contest("an async hold and its end", rounds, hot, tidegate_async_hold, limit),
        *contest("hot key", rounds, hot, tidegate_limit, PEERS),
        *contest(f"{len(keys):,} keys", 3 if quick else 7, keys, tidegate_limit, PEERS),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    options = parser.parse_args()
    print(json.dumps({"suite": "python", "rows": [row.json() for row in rows(options.quick)]}))


if __name__ == "__main__":
    main()
