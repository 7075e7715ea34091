"""Receipts over a shared store that fails, resets of several limits, and calls that are given up late."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from typing import Any

import pytest

from calls import done
from relay import Relay
from server import RedisServer
from tidegate import AsyncLimiter, Bucket, Limiter, SlidingLog, StoreError

HOURLY = Bucket("login", size=10, drip_rate=3_600_000)
KINDS = [Limiter, AsyncLimiter]


def eventually(call: Any) -> Any:
    """The result of a call, once the store decides."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with contextlib.suppress(StoreError):
            return done(call())
        time.sleep(0.01)
    raise AssertionError("the store does not decide")


@pytest.mark.parametrize("kind", KINDS)
def test_what_may_have_happened_is_not_done_again(kind: Any, server: RedisServer) -> None:
    with Relay(server.port) as relay:
        limiter = kind(relay.url, timeout=1, on_error="raise", deny_cache=0)
        mine = eventually(lambda: limiter.limit(HOURLY, "ada", 4))
        done(limiter.limit(HOURLY, "ada", 4))
        # The server hears of it, and gives back; its answer is lost.
        relay.deaf = True
        with pytest.raises(StoreError) as lost:
            done(limiter.refund(mine))
        assert (lost.value.failure, lost.value.may_have_happened) == ("timeout", True)
        relay.deaf = False
        relay.cut()
        assert eventually(lambda: limiter.refund(mine)).remaining == 6
        assert eventually(lambda: limiter.settle(mine, 9)).remaining == 6


@pytest.mark.parametrize("kind", KINDS)
def test_what_did_not_happen_may_be_tried_again(kind: Any, server: RedisServer) -> None:
    limiter = kind(server.url, timeout=1, on_error="raise")
    mine = eventually(lambda: limiter.limit(HOURLY, "ada", 4))
    server.command("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(StoreError) as refused:
        done(limiter.settle(mine, 1))
    assert (refused.value.failure, refused.value.may_have_happened) == ("out-of-memory", False)
    server.command("CONFIG", "SET", "maxmemory", "0")
    assert eventually(lambda: limiter.settle(mine, 1)).remaining == 9


@pytest.mark.parametrize("kind", KINDS)
def test_several_limits_are_reset_in_one_round_trip(kind: Any, server: RedisServer) -> None:
    limiter = kind(server.url, timeout=10, on_error="raise")
    limits = [HOURLY, Bucket("api", size=5, drip_rate=60_000), SlidingLog("log", max=3, period=60_000)]
    done(limiter.limit(limits, "ada"))

    def scripts() -> int:
        made = re.search(r"cmdstat_evalsha:calls=(\d+)", str(server.command("INFO", "commandstats")))
        return int(made[1]) if made else 0

    before = scripts()
    assert done(limiter.reset(limits, "ada")) is None
    assert scripts() == before + 1
    assert [check.remaining for check in done(limiter.peek(limits, "ada")).checks] == [10, 5, 3]


@pytest.mark.parametrize("shared", [False, True])
def test_giving_up_after_its_turn_frees_nothing_of_a_later_call(shared: bool, fleet: RedisServer) -> None:
    mail = Bucket("mail", size=1, drip_rate=100)
    actor = f"late {shared}"

    async def main() -> None:
        limiter = AsyncLimiter(fleet.url, timeout=10, on_error="raise") if shared else AsyncLimiter()
        other = Limiter(fleet.url, timeout=10, on_error="raise") if shared else limiter._limiter
        if not shared:
            other.charge(mail, actor)
        task = asyncio.ensure_future(limiter.acquire(mail, actor))
        await asyncio.sleep(0)
        # Its turn comes while the loop is busy, and what it charged drains.
        time.sleep(0.5)
        other.charge(mail, actor, 50)
        start = time.monotonic()
        before = other.peek(mail, actor).full_reset_ms
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.1)
        after = other.peek(mail, actor).full_reset_ms
        assert before - after <= (time.monotonic() - start) * 1000 + 1

    asyncio.run(main())


def test_an_acquire_at_an_instant_is_refunded_when_it_is_cancelled(fleet: RedisServer) -> None:
    async def main() -> None:
        limiter = AsyncLimiter(fleet.url, timeout=10, on_error="raise")
        now = 1_700_000_000_000
        assert not (await limiter.acquire(HOURLY, "instant", 4, now=now)).blocked
        task = asyncio.ensure_future(limiter.acquire(HOURLY, "instant", 4, now=now))
        await asyncio.sleep(0)
        # Its answer is there, and nobody has taken it.
        time.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        end = time.monotonic() + 10
        while (await limiter.peek(HOURLY, "instant", now=now)).remaining != 6:
            assert time.monotonic() < end
            await asyncio.sleep(0.01)

    asyncio.run(main())
