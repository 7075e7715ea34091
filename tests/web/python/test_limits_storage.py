"""The store for `limits`: its strategies on a clock, beside its own storage, and its users over real HTTP."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import limits
import pytest
import time_machine
from limits.aio import strategies as aio
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage, storage_from_string
from limits.strategies import (
    FixedWindowRateLimiter,
    MovingWindowRateLimiter,
    RateLimiter,
    SlidingWindowCounterRateLimiter,
)

from server import RedisServer
from serving import Served
from tidegate import AsyncLimiter, Limiter, LimitError, StoreError
from tidegate.stores.limits import AsyncTidegateStorage, TidegateStorage
from tidegate.testing import Clock

APPS = Path(__file__).parent / "apps"
TEN = limits.parse("10/minute")
STRATEGIES = [FixedWindowRateLimiter, MovingWindowRateLimiter, SlidingWindowCounterRateLimiter]


@pytest.fixture
def key() -> str:
    return uuid4().hex


def on_clock(store: str) -> tuple[TidegateStorage, Clock]:
    clock = Clock(time.time())
    options = {} if store == "memory://" else {"timeout": 5}
    return TidegateStorage(limiter=Limiter(store, clock=clock, **options)), clock  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strategies_admit_their_amount_and_no_more(store: str, key: str, strategy: type[RateLimiter]) -> None:
    storage, clock = on_clock(store)
    limiter = strategy(storage)
    assert limiter.get_window_stats(TEN, key).remaining == 10
    assert limiter.test(TEN, key, cost=10)
    assert [limiter.hit(TEN, key, cost=cost) for cost in (4, 6, 1)] == [True, True, False]
    assert not limiter.test(TEN, key)
    stats = limiter.get_window_stats(TEN, key)
    assert stats.remaining == 0
    assert 0 < stats.reset_time - time.time() <= 60
    assert limiter.hit(TEN, key + "2")
    clock.advance(120)
    assert limiter.test(TEN, key, cost=10)
    assert limiter.hit(TEN, key, cost=10)
    limiter.clear(TEN, key)
    assert limiter.get_window_stats(TEN, key).remaining == 10


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_limit_of_nothing_denies_as_with_their_storage(store: str, key: str, strategy: type[RateLimiter]) -> None:
    nothing = limits.parse("0/minute")

    def seen(limiter: RateLimiter) -> list[Any]:
        answers = [
            limiter.test(nothing, key),
            limiter.hit(nothing, key),
            limiter.get_window_stats(nothing, key).remaining,
        ]
        limiter.clear(nothing, key)
        return answers

    assert seen(strategy(on_clock(store)[0])) == seen(strategy(MemoryStorage())) == [False, False, 0]


def test_moving_windows_are_exact(store: str, key: str) -> None:
    """Beside a list of instants, over costs and pauses at random."""
    storage, clock = on_clock(store)
    limiter = MovingWindowRateLimiter(storage)
    chance = random.Random(7)
    now, calls = 0, list[int]()
    for _ in range(200):
        pause, cost = chance.choice([0, 1, 2, 5, 13]), chance.choice([1, 1, 1, 2, 7, 11])
        now += pause
        clock.advance(pause)
        calls = [at for at in calls if at > now - 60]
        fits = len(calls) + cost <= 10
        assert limiter.test(TEN, key, cost=cost) == fits
        assert limiter.hit(TEN, key, cost=cost) == fits
        calls += [now] * cost if fits else []
        start, count = storage.get_moving_window(TEN.key_for(key), 10, 60)
        assert count == len(calls)
        assert start == pytest.approx(time.time() - now + (calls[0] if calls else now), abs=10)


def test_fixed_windows_count_as_those_of_limits_do(store: str, key: str) -> None:
    """A window begins with its first call, and counts refused calls too."""
    storage, clock = on_clock(store)
    name = TEN.key_for(key)
    assert [storage.incr(name, 60, amount) for amount in (1, 20, 3)] == [1, 21, 24]
    clock.advance(40)
    assert storage.get(name) == 24
    assert storage.get_expiry(name) - time.time() == pytest.approx(20, abs=10)
    clock.advance(20)
    assert (storage.get(name), storage.incr(name, 60)) == (0, 1)


@pytest.mark.parametrize("text", ["5/second", "10/minute", "3/hour", "40/2 days", "5000/day"])
def test_sliding_windows_are_as_those_of_limits(store: str, key: str, text: str) -> None:
    """Decisions and statistics beside the library's own storage, over costs and pauses at random."""
    item, chance = limits.parse(text), random.Random(11)
    # Never near an instant at which a weighted count is whole: floats make one more or less of it there.
    period = item.get_expiry()
    clock = Clock(1_750_000_020.0004 + round(0.00371 * period, 3))
    # Of more than some thousand units the engine's answers tell the time of each only by the distance of two.
    close = max(0.003, period / item.amount if item.amount > 1000 else 0)
    options = {} if store == "memory://" else {"timeout": 5}
    ours = TidegateStorage(limiter=Limiter(store, clock=clock, **options))  # type: ignore[arg-type]
    with time_machine.travel(clock(), tick=False) as traveller:
        theirs = MemoryStorage()
        beside = [SlidingWindowCounterRateLimiter(storage) for storage in (ours, theirs)]
        for _ in range(150):
            pause = chance.choice([0, 0, 0, 0.01, 0.07, 0.33, 0.5, 1, 1.4]) * period
            clock.advance(round(pause, 3))
            traveller.move_to(clock())
            cost = chance.choice([1, 1, 2, max(item.amount // 4, 1), item.amount])
            mine, expected = [strategy.test(item, key, cost=cost) for strategy in beside]
            assert mine == expected
            mine, expected = [strategy.hit(item, key, cost=cost) for strategy in beside]
            assert mine == expected
            stats, right = (strategy.get_window_stats(item, key) for strategy in beside)
            assert stats.remaining == right.remaining
            assert stats.reset_time - clock() == pytest.approx(right.reset_time - clock(), abs=close)
            name = item.key_for(key)
            (*counts, _), (*known, _) = (storage.get_sliding_window(name, period) for storage in (ours, theirs))
            if item.amount < 100:
                assert counts == pytest.approx(known, abs=0.003)
        for strategy in beside:
            strategy.clear(item, key)
        assert ours.get_sliding_window(name, period)[::2] == theirs.get_sliding_window(name, period)[::2] == (0, 0)


def test_keys_of_every_granularity(store: str, key: str) -> None:
    storage, _ = on_clock(store)
    for text in ("1/second", "2/5 minutes", "3/hour", "4/2 days", "5/month", "6/year"):
        item = limits.parse(text)
        name = item.key_for(key, "a/b")
        storage.incr(name, item.get_expiry())
        assert storage.get(name) == 1, text
        assert storage.get_expiry(name) - time.time() == pytest.approx(item.get_expiry(), abs=10), text
    with pytest.raises(LimitError, match="RateLimitItem"):
        storage.get("a key of another kind")


@pytest.mark.parametrize("strategy", ["FixedWindow", "MovingWindow", "SlidingWindowCounter"])
def test_the_async_twin(store: str, key: str, strategy: str) -> None:
    async def main() -> None:
        clock = Clock(time.time())
        options = {} if store == "memory://" else {"timeout": 5}
        storage = AsyncTidegateStorage(limiter=AsyncLimiter(store, clock=clock, **options))  # type: ignore[arg-type]
        limiter = getattr(aio, f"{strategy}RateLimiter")(storage)
        assert await storage.check()
        assert await limiter.test(TEN, key, cost=10)
        assert [await limiter.hit(TEN, key, cost=cost) for cost in (4, 6, 1)] == [True, True, False]
        assert not await limiter.test(TEN, key)
        stats = await limiter.get_window_stats(TEN, key)
        assert stats.remaining == 0
        assert 0 < stats.reset_time - time.time() <= 60
        clock.advance(120)
        assert await limiter.hit(TEN, key, cost=10)
        await limiter.clear(TEN, key)
        assert (await limiter.get_window_stats(TEN, key)).remaining == 10

    asyncio.run(main())


def test_urls_and_options(redis: RedisServer, key: str) -> None:
    storage: Any = storage_from_string(f"tidegate+{redis.url}", timeout=5)
    twin: Any = storage_from_string(f"async+tidegate+{redis.url}", timeout=5)
    assert (type(storage), type(twin)) == (TidegateStorage, AsyncTidegateStorage)
    assert storage.check()
    FixedWindowRateLimiter(storage).hit(TEN, key)

    async def both() -> int:
        strategy = aio.FixedWindowRateLimiter(twin)
        await strategy.hit(TEN, key)
        remaining = (await strategy.get_window_stats(TEN, key)).remaining
        # An entry of a program that uses tidegate itself is not theirs to remove.
        own = Limiter(redis.url, timeout=5)
        own.limit({"key": "own", "type": "bucket", "size": 1}, key)
        assert await twin.reset() >= 1
        assert own.peek({"key": "own", "type": "bucket", "size": 1}, key).blocked
        return remaining

    assert asyncio.run(both()) == 8
    assert storage.get(TEN.key_for(key)) == 0
    # Each storage in memory is one of its own.
    one, other = (FixedWindowRateLimiter(TidegateStorage()) for _ in range(2))
    assert [one.hit(limits.parse("1/day"), key), other.hit(limits.parse("1/day"), key)] == [True, True]


def test_a_store_that_is_away(key: str) -> None:
    with RedisServer() as gone:
        options = {"on_error": "raise", "timeout": 0.5}
        url = f"tidegate+{gone.url}"
        plain: Any = storage_from_string(url, **options)  # type: ignore[arg-type]
        wrapped: Any = storage_from_string(url, wrap_exceptions=True, **options)  # type: ignore[arg-type]
        local: Any = storage_from_string(url, timeout=0.5)
        gone.kill()
        assert not plain.check()
        with pytest.raises(StoreError):
            FixedWindowRateLimiter(plain).hit(TEN, key)
        with pytest.raises(StorageError):
            MovingWindowRateLimiter(wrapped).hit(TEN, key)
        # By default this process goes on by itself.
        assert [MovingWindowRateLimiter(local).hit(TEN, key, cost=5) for _ in range(3)] == [True, True, False]


def test_a_store_that_is_back_decides_when_check_says_so(key: str) -> None:
    """Flask-Limiter leaves its fallback then, and the next call must not fail."""

    async def main() -> None:
        twin = AsyncTidegateStorage(f"tidegate+{server.url}", on_error="raise", timeout=0.5)
        strategy = aio.FixedWindowRateLimiter(twin)
        server.kill()
        with pytest.raises(StoreError):
            await strategy.hit(TEN, key)
        server.start()
        while not await twin.check():
            await asyncio.sleep(0)
        assert await strategy.hit(TEN, key)

    with RedisServer() as server:
        storage = TidegateStorage(f"tidegate+{server.url}", on_error="raise", timeout=0.5)
        for _ in range(3):
            server.kill()
            with pytest.raises(StoreError):
                FixedWindowRateLimiter(storage).hit(TEN, key)
            server.start()
            while not storage.check():
                pass
            assert FixedWindowRateLimiter(storage).hit(TEN, key)
        asyncio.run(main())


@pytest.mark.parametrize("on_error", ["deny", "allow"])
def test_statistics_while_the_store_is_away(key: str, on_error: str) -> None:
    url: Any = "tidegate+redis://127.0.0.1:1"
    storage = TidegateStorage(url, on_error=on_error, timeout=0.05)
    for strategy in STRATEGIES:
        stats = strategy(storage).get_window_stats(TEN, key)  # type: ignore[abstract]
        assert stats.remaining == (0 if on_error == "deny" else 10)
        assert stats.reset_time - time.time() <= 60


def test_costs_are_whole(redis: RedisServer, key: str) -> None:
    """As for the fixed window of the library's own Redis, whose other windows drop a fraction or break at it."""
    ours, theirs = TidegateStorage(f"tidegate+{redis.url}", timeout=5), RedisStorage(redis.url)
    half: Any = 0.5
    for strategy in STRATEGIES:
        with pytest.raises(LimitError, match=r"cost must be a whole number, got 0\.5"):
            strategy(ours).hit(TEN, key, cost=half)  # type: ignore[abstract]
        assert strategy(ours).hit(TEN, key, cost=10)  # type: ignore[abstract]
    with pytest.raises(theirs.base_exceptions, match="not an integer"):
        FixedWindowRateLimiter(theirs).hit(TEN, key, cost=half)


def test_a_limiter_that_is_not_set_is_refused() -> None:
    for kind, options in ((TidegateStorage, {"limiter": None}), (AsyncTidegateStorage, {"limiter": Limiter()})):
        with pytest.raises(LimitError, match="limiter must be"):
            kind(**options)


def test_flask_limiters_command_shows_the_configuration() -> None:
    wide = {**os.environ, "COLUMNS": "200"}
    command = [sys.executable, "-m", "flask", "--app", "limited_by_peers:flask_app", "limiter", "config"]
    shown = subprocess.run(command, cwd=APPS, env=wide, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert "TidegateStorage" in shown.stdout
    assert "Limiter memory://" in shown.stdout


def served(app: str, **environment: str) -> Served:
    if app == "slow_app":
        return Served.uvicorn(f"limited_by_peers:{app}", APPS, "--workers", "2", **environment)
    command = [sys.executable, "-m", "gunicorn", f"limited_by_peers:{app}", "-b", "127.0.0.1:{port}", "-w", "2"]
    return Served(*command, folder=APPS, **environment)


@pytest.mark.parametrize(("app", "strategy"), [("flask_app", "fixed-window"), ("slow_app", "moving-window")])
def test_flask_limiter_and_slowapi_over_workers(redis: RedisServer, key: str, app: str, strategy: str) -> None:
    with served(app, STORE=redis.url, STRATEGY=strategy) as server:
        first = server.ask(x_api_key=key)
        assert first.headers["x-ratelimit-limit"] == "20"
        assert first.headers["x-ratelimit-remaining"] == "19"
        assert 3500 < float(first.headers["x-ratelimit-reset"]) - time.time() <= 3601
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: server.ask(x_api_key=key), range(39)))
        assert Counter(answer.status for answer in answers) == {200: 19, 429: 20}
        refused = server.ask(x_api_key=key)
        assert (refused.status, refused.headers["x-ratelimit-remaining"]) == (429, "0")
        assert 0 < int(refused.headers["retry-after"]) <= 3600
        assert server.ask(x_api_key=key + "2").status == 200
