"""The actors that a limiter denied and charged most."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from server import RedisServer
from tidegate import AsyncLimiter, Bucket, ClosedError, Concurrency, Limiter, LimitError, Top, TopActor

LOGIN = Bucket("login", size=3, drip_rate=3_600_000)
ALL = Bucket("all", size=100, drip_rate=3_600_000)
SOON = Bucket("soon", size=1, drip_rate=3_600_000)
JOBS = Concurrency("jobs", max=1, lease=60_000)

EXPECTED = Top(
    denied=(TopActor("ada", 2, 0), TopActor("bob", 1, 0), TopActor("eve", 1, 0)),
    charged=(TopActor("ip:192.0.2.1", 3, 0), TopActor("ada", 3, 0), TopActor("bob", 2, 0), TopActor("eve", 1, 0)),
)


def call(limiter: Limiter) -> None:
    for _ in range(5):
        limiter.limit_all([(LOGIN, "ada"), (ALL, "ip:192.0.2.1")], now=0)
    limiter.peek(LOGIN, "ada", now=0)
    limiter.charge(ALL, "bob", now=0)
    with limiter.hold(JOBS, "bob"):
        limiter.acquire(JOBS, "bob", max_wait=0)
    for _ in range(2):
        limiter.acquire(SOON, "eve", max_wait=0, now=0)


async def call_async(limiter: AsyncLimiter) -> None:
    for _ in range(5):
        await limiter.limit_all([(LOGIN, "ada"), (ALL, "ip:192.0.2.1")], now=0)
    await limiter.peek(LOGIN, "ada", now=0)
    await limiter.charge(ALL, "bob", now=0)
    async with limiter.hold(JOBS, "bob"):
        await limiter.acquire(JOBS, "bob", max_wait=0)
    for _ in range(2):
        await limiter.acquire(SOON, "eve", max_wait=0, now=0)


def as_sets(top: Top) -> tuple[set[TopActor], set[TopActor]]:
    """Rows of one count have no order that matters here."""
    assert [row.count for row in top.charged] == sorted((row.count for row in top.charged), reverse=True)
    return set(top.denied), set(top.charged)


@pytest.mark.parametrize("over", ["memory", "redis", "shm"])
def test_calls_of_any_store_are_counted_alike(over: str, fleet: RedisServer, tmp_path: Any) -> None:
    url = {"memory": "memory://", "redis": fleet.url, "shm": f"shm://{tmp_path}/table"}[over]
    limiter = Limiter(url, timeout=5, namespace="top", on_error="raise")
    limiter.limit(ALL, "before")
    assert limiter.top() == Top((), ())
    call(limiter)
    assert as_sets(limiter.top()) == as_sets(EXPECTED)
    assert limiter.top(1).denied == EXPECTED.denied[:1]
    assert limiter.top(count=0) == Top((), ())
    limiter.close()
    with pytest.raises(ClosedError):
        limiter.top()


def test_calls_of_an_event_loop_are_counted_alike(fleet: RedisServer) -> None:
    async def counted(limiter: AsyncLimiter) -> Top:
        limiter.top()
        await call_async(limiter)
        top = limiter.top(10)
        limiter.close()
        return top

    for url in ("memory://", fleet.url):
        limiter = AsyncLimiter(url, timeout=5, namespace="top-loop", on_error="raise")
        assert as_sets(asyncio.run(counted(limiter))) == as_sets(EXPECTED)


def test_denials_that_are_repeated_without_the_store_count(fleet: RedisServer) -> None:
    limiter = Limiter(fleet.url, timeout=5, namespace="top-cache", deny_cache=60, on_error="raise")
    limiter.top()
    for _ in range(10):
        limiter.limit(LOGIN, "ada")
    assert limiter.stats().deny_cache_hits >= 6
    assert limiter.top().denied == (TopActor("ada", 7, 0),)
    limiter.close()


def test_denials_by_the_fallback_count() -> None:
    limiter = Limiter("redis://localhost:1", timeout=0.5, on_error="deny")
    limiter.top()
    assert limiter.limit_all([(LOGIN, "ada"), (ALL, "bob")]).blocked
    assert set(limiter.top().denied) == {TopActor("ada", 1, 0), TopActor("bob", 1, 0)}
    limiter.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_forked_child_counts_its_own_calls() -> None:
    limiter = Limiter()
    limiter.top()
    limiter.limit(ALL, "parent")
    child = os.fork()
    if child == 0:
        limiter.limit(ALL, "child")
        os._exit(0 if [row.actor for row in limiter.top().charged] == ["child"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert limiter.top().charged == (TopActor("parent", 1, 0),)


@pytest.mark.parametrize("count", [-1, 0.5, float("nan"), 2**54, "3", None, True])
def test_a_count_is_a_whole_number(count: Any) -> None:
    with pytest.raises(LimitError, match="count must be ") as refused:
        Limiter().top(count)
    assert refused.value.field == "count"
