"""Time as tests own it: a clock of their own, and libraries that freeze the time of the process."""

from __future__ import annotations

import asyncio
import math
import pickle
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta, timezone
from typing import Any, cast

import pytest
import time_machine
from freezegun import freeze_time

from calls import done
from server import RedisServer
from test_redis import PATIENT, namespace
from tidegate import AsyncLimiter, Bucket, FixedWindow, Limiter, LimitError, SlidingLog
from tidegate.testing import Clock

KINDS: list[type] = [Limiter, AsyncLimiter]
DOOR = Bucket("door", size=1, drip_rate=60_000)
MAIL = Bucket("mail", size=1, drip_rate=100)
SLOW = Bucket("slow", size=1, drip_rate=500)


@pytest.fixture(params=["memory", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "memory":
        return "memory://"
    fleet: RedisServer = request.getfixturevalue("fleet")
    return fleet.url


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def options() -> dict[str, Any]:
    return {"namespace": namespace(), **PATIENT}


def test_a_clock_decides(kind: Any, url: str, options: Any) -> None:
    clock = Clock()
    limiter = kind(url, clock=clock, **options)
    assert [done(limiter.limit(DOOR, "ada")).blocked for _ in range(2)] == [False, True]
    clock.advance(59.999999)
    denied = done(limiter.limit(DOOR, "ada"))
    assert (denied.blocked, denied.reset_ms) == (True, 1)
    clock.advance(0.000001)
    assert done(limiter.peek(DOOR, "ada")).allowed
    assert done(limiter.limit_all([(DOOR, "ada")])).allowed
    assert done(limiter.peek_all([(DOOR, "ada")])).blocked
    assert "60 s" in str(done(limiter.explain(DOOR, "ada")))
    clock.advance(timedelta(minutes=1))
    info = done(limiter.charge(DOOR, "ada", 3))
    assert info.full_reset_ms == 180_000
    clock.advance(60)
    assert done(limiter.settle(info, 2)).full_reset_ms == 60_000
    assert done(limiter.refund(DOOR, "ada")).full_reset_ms == 0


def test_an_instant_that_is_given_wins(kind: Any, url: str, options: Any) -> None:
    limiter = kind(url, clock=Clock(), **options)
    assert done(limiter.limit(DOOR, "ada")).allowed
    assert done(limiter.limit(DOOR, "ada", now=(Clock()() + 60) * 1000)).allowed
    assert done(limiter.limit(DOOR, "ada")).blocked


def test_acquire_answers_at_once(kind: Any, url: str, options: Any) -> None:
    clock = Clock()
    limiter = kind(url, clock=clock, **options)
    log = SlidingLog("log", max=1, period=3_600_000)
    began = time.monotonic()
    assert [done(limiter.acquire(DOOR, "ada")).wait_ms for _ in range(3)] == [0, 60_000, 120_000]
    assert done(limiter.acquire(DOOR, "ada", max_wait=1)).blocked
    assert done(limiter.acquire(log, "ada")).allowed
    assert done(limiter.acquire(log, "ada")).blocked
    clock.advance(180)
    assert done(limiter.acquire(DOOR, "ada")).wait_ms == 0
    assert time.monotonic() - began < 30


def test_denials_are_not_remembered_beyond_the_clock(url: str, options: Any) -> None:
    clock = Clock()
    limiter = Limiter(url, clock=clock, **options)
    assert [limiter.limit(DOOR, "ada").blocked for _ in range(3)] == [False, True, True]
    clock.advance(60)
    assert limiter.limit(DOOR, "ada").allowed


def test_a_clock_of_ones_own_and_its_mistakes(kind: Any, url: str, options: Any) -> None:
    assert done(kind(url, clock=lambda: 0, **options).limit(DOOR, "zoe")).allowed
    mistakes: list[Any] = [-1, math.nan, math.inf, 2**53, "5", None, True, [], datetime.now()]
    for wrong in mistakes:
        limiter = kind(url, clock=lambda wrong=wrong: wrong, **options)
        with pytest.raises(LimitError, match=r'^limit "door": clock must tell seconds since the epoch') as caught:
            done(limiter.limit(DOOR, "ada"))
        assert caught.value.field == "clock"
        with pytest.raises(LimitError):
            done(limiter.acquire(DOOR, "ada"))

    def broken() -> float:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        done(kind(url, clock=broken, **options).limit(DOOR, "ada"))
    for mistake in (5, "now", Ellipsis):
        with pytest.raises(LimitError, match=r"^clock must be a function"):
            kind(url, clock=mistake, **options)
    assert done(kind(url, clock=None, **options).limit(DOOR, "ada")).allowed


def test_the_clock_of_the_tests() -> None:
    clock = Clock(0)
    for _ in range(1000):
        clock.advance(0.1)
    assert clock() == 100
    clock.advance(timedelta(days=1, microseconds=1))
    assert clock() == 86_500.000001
    clock.set(1e-06)
    assert repr(clock) == "Clock(1e-06)"
    clock.set(datetime(2020, 1, 1, tzinfo=timezone.utc))
    assert clock() == 1_577_836_800
    assert Clock()() == datetime(2024, 1, 1, tzinfo=timezone.utc).timestamp()
    assert Clock(datetime(2024, 1, 1, tzinfo=timezone.utc))() == 1_704_067_200
    assert Clock(1.5)() == 1.5
    assert pickle.loads(pickle.dumps(Clock(7)))() == 7
    for wrong in (-1, -0.5, math.nan, math.inf, timedelta(-1)):
        with pytest.raises(LimitError, match=r"^seconds must be at least 0 and finite, got "):
            clock.advance(wrong)
    with pytest.raises(LimitError, match=r"^start must be"):
        Clock(-1)
    with pytest.raises(LimitError, match=r"^start must be a number of seconds or a datetime, got 'x'$"):
        Clock(cast(Any, "x"))
    with pytest.raises(LimitError, match=r"^seconds must be a number of seconds or a timedelta, got 'x'$"):
        clock.advance(cast(Any, "x"))
    daily = FixedWindow("daily", max=1, period=timedelta(days=1))
    assert Limiter(clock=Clock()).limit(daily, "ada").reset_ms == 86_400_000


FREEZERS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "freezegun": lambda: freeze_time("2020-01-01"),
    "time-machine": lambda: time_machine.travel(datetime(2020, 1, 1, tzinfo=timezone.utc), tick=False),
}


@pytest.fixture(params=FREEZERS)
def frozen(request: pytest.FixtureRequest) -> Any:
    return FREEZERS[request.param]


def test_frozen_time_changes_nothing_unless_asked(frozen: Any, kind: Any, url: str, options: Any) -> None:
    limiter = kind(url, **options)
    real_sleep = time.sleep
    with frozen():
        assert [done(limiter.limit(SLOW, "ada")).blocked for _ in range(2)] == [False, True]
        real_sleep(0.55)
        assert done(limiter.limit(SLOW, "ada")).allowed, "the time of the store goes on"
        later = kind(url, **options)
        assert done(later.limit(DOOR, "eve")).allowed
        for info in (done(later.limit(DOOR, "eve")), done(limiter.peek(DOOR, "zoe"))):
            assert not info.degraded
    assert done(limiter.limit(DOOR, "bob")).allowed


@pytest.mark.parametrize("limit", [MAIL, SlidingLog("log", max=1, period=100)], ids=lambda limit: limit.key)
def test_waits_end_in_frozen_time(frozen: Any, kind: Any, url: str, options: Any, limit: Any) -> None:
    limiter = kind(url, **options)
    # As it is before anything freezes it.
    real_time = time.perf_counter
    began = real_time()
    with frozen():
        answers = [done(limiter.acquire(limit, "ada", max_wait=30)) for _ in range(3)]
    assert [answer.blocked for answer in answers] == [False, False, False]
    assert answers[0].wait_ms == 0
    # By the time of the store, which may have gone on between two calls: then there was less to wait for.
    assert real_time() - began > 0.19


def test_a_frozen_wait_can_be_cancelled() -> None:
    limiter = AsyncLimiter()

    async def main() -> None:
        await limiter.limit(DOOR, "ada")
        waiting = asyncio.ensure_future(limiter.acquire(DOOR, "ada"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    with freeze_time("2020-01-01"):
        asyncio.run(main())
    assert limiter._limiter.peek(DOOR, "ada").full_reset_ms <= 60_000


def test_the_time_of_these_libraries_can_be_handed_in(kind: Any, url: str, options: Any) -> None:
    limiter = kind(url, clock=lambda: time.time(), **options)
    with freeze_time("2020-01-01") as freezer:
        assert [done(limiter.limit(DOOR, "ada")).blocked for _ in range(2)] == [False, True]
        freezer.tick(60)
        assert done(limiter.limit(DOOR, "ada")).allowed
        at_hand = kind(url, clock=time.time, **options)
        assert [done(at_hand.limit(DOOR, "bob")).blocked for _ in range(2)] == [False, True]
        freezer.tick(60)
        assert done(at_hand.limit(DOOR, "bob")).allowed
    limiter = kind(url, clock=time.time, **options)
    with time_machine.travel(datetime(2021, 1, 1, tzinfo=timezone.utc), tick=False) as traveller:
        assert [done(limiter.limit(DOOR, "eve")).blocked for _ in range(2)] == [False, True]
        traveller.shift(60)
        assert done(limiter.limit(DOOR, "eve")).allowed


def test_a_limiter_and_its_clock_are_collected_together() -> None:
    import gc
    import weakref

    class App:
        def __init__(self) -> None:
            self.limiter = Limiter(clock=self.now)

        def now(self) -> float:
            return 0.0

    app = App()
    assert app.limiter.limit(DOOR, "ada").allowed
    gone = weakref.ref(app)
    del app
    gc.collect()
    assert gone() is None
