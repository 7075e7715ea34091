"""Limiters that are closed: a clear error, no connection, and never another limiter's business."""

from __future__ import annotations

import asyncio
import gc
import pickle
import threading
from collections.abc import Callable
from contextlib import aclosing, closing
from typing import Any

import pytest

from calls import done
from server import RedisServer
from test_redis import PATIENT, namespace, wait_for
from tidegate import AsyncLimiter, Bucket, ClosedError, Limiter, SlidingLog

LOGIN = Bucket("login", size=100, drip_rate=3_600_000)


@pytest.fixture(params=["memory", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "memory":
        return "memory://"
    fleet: RedisServer = request.getfixturevalue("fleet")
    return fleet.url


@pytest.fixture(params=[Limiter, AsyncLimiter])
def make(request: pytest.FixtureRequest, url: str) -> Any:
    name = namespace()
    return lambda: request.param(url, namespace=name, **PATIENT)


def test_a_closed_limiter_says_so(make: Any) -> None:
    limiter, other = make(), make()
    info = done(limiter.limit(LOGIN, "ada"))
    limiter.close()
    limiter.close()
    calls: list[Callable[[], object]] = [
        *[lambda call=call: getattr(limiter, call)(LOGIN, "ada") for call in ("limit", "peek", "charge", "refund")],
        lambda: limiter.refund(info),
        lambda: limiter.settle(info, 0),
        lambda: limiter.acquire(LOGIN, "ada"),
        lambda: limiter.acquire(LOGIN, "ada", now=0),
        lambda: limiter.reset(LOGIN, "ada"),
        lambda: limiter.explain(LOGIN, "ada"),
        lambda: limiter.limit_all([(LOGIN, "ada")]),
        lambda: limiter.peek_all([]),
        lambda: limiter.stats(),
        lambda: limiter.entries,
        lambda: limiter.evictions,
    ]
    for call in calls:
        with pytest.raises(ClosedError, match=r"^this limiter is closed$"):
            done(call())
    assert "closed" in repr(limiter)
    assert done(other.limit(LOGIN, "eve")).allowed


def test_with_closes(make: Any) -> None:
    if isinstance(make(), Limiter):
        with make() as limiter:
            assert limiter.limit(LOGIN, "ada").allowed
        with pytest.raises(ClosedError), limiter:
            pass
        with closing(make()) as again:
            assert again.limit(LOGIN, "ada").allowed
        with pytest.raises(ZeroDivisionError), make() as limiter:
            raise ZeroDivisionError
        with pytest.raises(ClosedError):
            limiter.limit(LOGIN, "ada")
        return

    async def main() -> None:
        async with make() as limiter:
            assert (await limiter.limit(LOGIN, "ada")).allowed
        with pytest.raises(ClosedError):
            await limiter.limit(LOGIN, "ada")
        with pytest.raises(ClosedError):
            async with limiter:
                pass
        async with aclosing(make()) as again:
            assert (await again.limit(LOGIN, "ada")).allowed
        await again.aclose()

    asyncio.run(main())


def test_closing_ends_the_connections(server: RedisServer) -> None:
    limiters = [Limiter(server.url, **PATIENT) for _ in range(5)]
    for limiter in limiters:
        limiter.limit(LOGIN, "ada")

    def connections() -> int:
        return len(server.command("CLIENT", "LIST").splitlines()) - 1

    assert connections() >= 5
    for limiter in limiters[1:]:
        limiter.close()
    wait_for(lambda: connections() < 5)
    assert limiters[0].limit(LOGIN, "ada").remaining == 94


def test_calls_under_way_are_answered(server: RedisServer) -> None:
    limiter, answers = AsyncLimiter(server.url, timeout=5), []

    async def main() -> None:
        await limiter.limit(LOGIN, "ada")
        server.pause()
        calls = [asyncio.ensure_future(limiter.limit(LOGIN, "ada")) for _ in range(10)]
        await asyncio.sleep(0.05)
        limiter.close()
        server.resume()
        answers.extend(await asyncio.gather(*calls))

    asyncio.run(main())
    assert [info.degraded for info in answers] == [False] * 10
    assert sorted(info.remaining for info in answers) == list(range(89, 99))


def test_ten_thousand_that_are_closed_and_collected_touch_no_other() -> None:
    stays, log = Limiter(), SlidingLog("log", max=1_000_000, period=3_600_000)
    stop, admitted = threading.Event(), []

    def load() -> None:
        count = 0
        while not stop.is_set():
            count += stays.limit(log, "ada").allowed
        admitted.append(count)

    thread = threading.Thread(target=load)
    thread.start()
    for number in range(10_000):
        closed = Limiter(max_entries=1)
        closed.limit(LOGIN, "ada")
        if number % 2:
            closed.close()
        del closed
        if number % 1000 == 0:
            gc.collect()
    stop.set()
    thread.join()
    assert stays.peek(log, "ada").remaining == 1_000_000 - admitted[0]


def test_what_is_made_after_a_close_is_its_own(make: Any) -> None:
    first = make()
    info = done(first.limit(LOGIN, "ada", 10))
    first.close()
    second = make()
    before = done(second.peek(LOGIN, "ada")).remaining
    with pytest.raises(ClosedError):
        done(first.refund(info))
    with pytest.raises(ValueError, match="of another limiter"):
        done(second.refund(info))
    assert done(second.peek(LOGIN, "ada")).remaining == before


def test_a_closed_limiter_is_another_open_one_once_it_is_pickled(fleet: RedisServer) -> None:
    limiter = Limiter(fleet.url, namespace=namespace(), **PATIENT)
    limiter.close()
    assert pickle.loads(pickle.dumps(limiter)).limit(LOGIN, "ada").allowed
