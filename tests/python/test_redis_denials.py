"""Denials that are remembered: they answer as the server would, whatever this process has charged since."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from calls import AnyLimiter, done
from server import RedisServer
from test_redis import PATIENT, namespace
from tidegate import AsyncLimiter, Bucket, Limiter, LimitInfo, SlidingLog, TokenBucket

HOUR = timedelta(hours=1)
SLOW = Bucket("slow", size=3, drip_rate=HOUR)
LARGER = Bucket("slow", size=4, drip_rate=HOUR)
LOG = SlidingLog("log", max=3, period=HOUR)
TOKENS = TokenBucket("tokens", count=3, period=HOUR)

CHARGES: dict[str, Callable[[Any, Any], Any]] = {
    "a smaller call": lambda limiter, limit: limiter.limit(limit, "ada"),
    "charge": lambda limiter, limit: limiter.charge(limit, "ada", cost=5),
    "a smaller factor": lambda limiter, limit: limiter.limit(limit, "ada", factor=0.5),
    "several": lambda limiter, limit: limiter.limit([limit, Bucket("beside", size=9)], "ada"),
    "several actors": lambda limiter, limit: limiter.limit_all([(limit, "ada"), (SLOW, "bob")]),
    "acquire": lambda limiter, limit: limiter.acquire(limit, "ada", max_wait=0),
}


def words(info: LimitInfo) -> list[int]:
    """An answer, its times to the minute."""
    times = [round(time / 60_000) for time in (info.reset_ms, info.full_reset_ms)]
    return [info.blocked, info.remaining, *times]


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
@pytest.mark.parametrize("limit", [SLOW, LOG, TOKENS], ids=lambda limit: limit.key)
@pytest.mark.parametrize("charge", CHARGES.values(), ids=CHARGES)
def test_a_charge_of_this_process_shows_in_the_next_denial(
    kind: type[AnyLimiter], fleet: RedisServer, limit: Any, charge: Any
) -> None:
    remembers = kind(fleet.url, namespace=namespace(), deny_cache=60, **PATIENT)
    asks = kind(fleet.url, namespace=namespace(), deny_cache=0, **PATIENT)
    memory = kind()

    def ask(limiter: Any) -> list[list[int]]:
        done(limiter.limit(limit, "ada", cost=2))
        first = words(done(limiter.limit(limit, "ada", cost=3)))
        done(charge(limiter, limit))
        return [first, words(done(limiter.limit(limit, "ada", cost=3)))]

    first, second = ask(memory)
    assert (first[0], second[0]) == (True, True)
    assert first != second
    assert ask(asks) == [first, second]
    assert ask(remembers) == [first, second]


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
def test_a_larger_definition_of_the_key_outdates_a_denial(kind: type[AnyLimiter], fleet: RedisServer) -> None:
    limiter = kind(fleet.url, namespace=namespace(), deny_cache=60, **PATIENT)
    assert [done(limiter.limit(SLOW, "ada")).blocked for _ in range(4)] == [False, False, False, True]
    assert not done(limiter.limit(LARGER, "ada")).blocked
    denied = done(limiter.limit(SLOW, "ada"))
    assert words(denied) == [True, 0, 120, 240]


def test_calls_that_are_denied_or_elsewhere_leave_it(fleet: RedisServer) -> None:
    limiter = Limiter(fleet.url, namespace=namespace(), deny_cache=60, **PATIENT)
    for _ in range(4):
        limiter.limit(SLOW, "ada")
    limiter.limit(SLOW, "bob")
    limiter.peek(SLOW, "ada")
    limiter.limit(SLOW, "ada", cost=2)
    before = limiter.stats().store_calls
    assert all(limiter.limit(SLOW, "ada").blocked for _ in range(20))
    assert limiter.stats().store_calls == before


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
@pytest.mark.parametrize("admin", [Limiter, AsyncLimiter])
def test_a_reset_is_seen_by_every_limiter_of_the_process(
    kind: type[AnyLimiter], admin: type[AnyLimiter], fleet: RedisServer
) -> None:
    name = namespace()
    app = kind(fleet.url, namespace=name, deny_cache=60, **PATIENT)
    for _ in range(5):
        last = done(app.limit(SLOW, "ada"))
    assert last.blocked
    assert app.stats().deny_cache_hits == 1
    done(admin(fleet.url, namespace=name, **PATIENT).reset(SLOW, "ada"))
    assert not done(app.limit(SLOW, "ada")).blocked
