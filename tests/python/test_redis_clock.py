"""A server whose clock is set while it runs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from server import RedisServer
from tidegate import AsyncLimiter, Bucket, FixedWindow, Limit, SlidingCounter, SlidingLog, SlidingWindow, TokenBucket

HOUR = 3600
# What all of these admit at once, and how many more a second: an allowance drains within a second.
SIZE = RATE = 50
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


class MovableClock(RedisServer):
    """A server whose wall clock can be set while it runs."""

    def __init__(self, folder: Path) -> None:
        library, self.ahead = folder / "clock.so", folder / "ahead"
        source = Path(__file__).parents[1] / "redis" / "clock.c"
        # What links Rust programs compiles this.
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True)
        self.ahead.write_bytes(bytes(8))
        super().__init__(environment={"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(self.ahead)})

    def set_ahead(self, seconds: int) -> None:
        """Show it a time that is this far ahead of ours."""
        with self.ahead.open("r+b") as file:
            file.write(seconds.to_bytes(8, sys.byteorder, signed=True))


@pytest.fixture
def movable(tmp_path: Path) -> Iterator[MovableClock]:
    with MovableClock(tmp_path) as server:
        yield server


@pytest.mark.parametrize("step", [HOUR, -HOUR], ids=["an hour ahead", "an hour back"])
def test_a_clock_that_is_set_gives_one_allowance_more_at_most_and_locks_nobody_out(
    movable: MovableClock, step: int
) -> None:
    # Denials are heard from the server every time, or remembered by the process.
    limiters = {
        name: AsyncLimiter(movable.url, namespace=name, deny_cache=seconds, timeout=1, on_error="raise")
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
            movable.set_ahead(step)
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
