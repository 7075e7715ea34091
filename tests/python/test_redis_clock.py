"""A server whose clock is set while it runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clock import Clock
from server import RedisServer
from tidegate import (
    AsyncLimiter,
    Bucket,
    CalendarWindow,
    FixedWindow,
    Limit,
    Limiter,
    SlidingCounter,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
)

pytestmark = pytest.mark.long

HOUR = 3600
# What all of these admit at once, and how many more a second: an allowance drains within a second. So few that a busy
# machine asks often enough.
SIZE = RATE = 20
LIMITS: list[Limit] = [
    Bucket("bucket", size=SIZE, drip_rate=1000 / RATE),
    TokenBucket("tokens", count=RATE, period=1000, burst=SIZE),
    FixedWindow("window", max=SIZE, period=1000),
    SlidingWindow("sliding", max=SIZE, period=1000, resolution=100),
    SlidingCounter("counter", max=SIZE, period=1000),
    SlidingLog("log", max=SIZE, period=1000),
]
BEFORE, AFTER = 1.3, 3.6
# How long a full allowance takes, and the steps of the one that counts in steps.
DRAINED_WITHIN = 1.1


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


@pytest.fixture
def movable(clock: Clock) -> Iterator[RedisServer]:
    """A server that looks at that clock."""
    with RedisServer(environment=clock.environment) as server:
        yield server


@pytest.mark.parametrize("step", [HOUR, -HOUR], ids=["an hour ahead", "an hour back"])
def test_a_clock_that_is_set_gives_one_allowance_more_at_most_and_locks_nobody_out(
    movable: RedisServer, clock: Clock, step: int
) -> None:
    # Denials are heard from the server every time, or remembered by the process.
    limiters = {
        name: AsyncLimiter(movable.url, namespace=name, deny_cache=seconds, timeout=10, on_error="raise")
        for name, seconds in [("asking", 0), ("remembering", 1)]
    }
    admitted: dict[tuple[str, str], list[float]] = {(name, limit.key): [] for name in limiters for limit in LIMITS}

    async def main() -> tuple[float, float, float]:
        began = time.monotonic()

        async def ask(name: str, limit: Limit) -> None:
            while (now := time.monotonic()) < began + BEFORE + AFTER:
                if not (await limiters[name].limit(limit, "ada")).blocked:
                    admitted[name, limit.key].append(now)
                await asyncio.sleep(0.002)

        async def set_clock() -> float:
            await asyncio.sleep(BEFORE)
            apart = movable.clock() - time.time()
            clock.set_ahead(step)
            moved = time.monotonic()
            assert movable.clock() - time.time() - apart == pytest.approx(step, abs=1)
            return moved

        setting = asyncio.ensure_future(set_clock())
        await asyncio.gather(*(ask(name, limit) for name in limiters for limit in LIMITS))
        moved = await setting
        return began, moved, time.monotonic()

    began, moved, ended = asyncio.run(main())
    normal = moved + DRAINED_WITHIN
    for (name, key), times in admitted.items():
        afterwards = sum(when > normal for when in times)
        where = f"{name} {key}: {len(times)} admitted, {afterwards} of them after {DRAINED_WITHIN} s"
        print(where)
        # Windows that are cut by the clock admit as much again in between two of them.
        most = (2 if key == "window" else 1) * SIZE + 1
        assert len(times) <= most + RATE * (ended - began) + SIZE, where
        assert afterwards <= most + RATE * (ended - normal), where
        # The last window may have been used up before. What counts by estimate loses a little.
        assert afterwards >= 0.75 * RATE * (ended - normal - 1), where


DAY = 24 * HOUR


def until_midnight(server: RedisServer) -> float:
    return DAY - server.clock() % DAY


@pytest.mark.parametrize("ahead", [100 * DAY, -100 * DAY], ids=["ahead", "behind"])
def test_windows_of_a_calendar_are_those_of_the_servers_clock(movable: RedisServer, clock: Clock, ahead: int) -> None:
    clock.set_ahead(ahead)
    quota = CalendarWindow("quota", max=2, unit="day")
    limiter = Limiter(movable.url, timeout=10, on_error="raise")
    left = until_midnight(movable)
    infos = [limiter.limit(quota, "ada") for _ in range(3)]
    assert [(info.blocked, info.remaining) for info in infos] == [(False, 1), (False, 0), (True, 0)]
    assert infos[2].reset_ms / 1000 == pytest.approx(left, abs=2)


def test_a_window_of_a_calendar_ends_with_the_servers_day(movable: RedisServer, clock: Clock) -> None:
    clock.set_ahead(round(until_midnight(movable) - 3))
    quota = CalendarWindow("quota", max=5, unit="day")
    limiter = Limiter(movable.url, timeout=10, on_error="raise", deny_cache=0)
    began = until_midnight(movable)
    assert began < 5
    admitted: list[tuple[float, float]] = []
    ends = time.monotonic() + began + 1
    while time.monotonic() < ends:
        before, info, after = movable.clock(), limiter.limit(quota, "ada"), movable.clock()
        if not info.blocked:
            admitted.append((before, after))
    midnight = admitted[-1][1] // DAY * DAY
    assert len(admitted) == 10
    # None of the second day came before its midnight, none of the first after it.
    assert all(before < midnight for before, _ in admitted[:5])
    assert all(after >= midnight for _, after in admitted[5:])
