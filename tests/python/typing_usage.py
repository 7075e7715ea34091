"""All of the API as a typed program uses it; `mypy --strict` is its test, and it runs too."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal

from tidegate import (
    AsyncLimiter,
    Bucket,
    CalendarWindow,
    CallExplanation,
    Check,
    ClosedError,
    Concurrency,
    Decay,
    Definition,
    Explanation,
    Fault,
    FixedWindow,
    Latency,
    Legacy,
    Limit,
    Limited,
    Limiter,
    LimitError,
    LimitInfo,
    Limits,
    LimitsError,
    SlidingCounter,
    SlidingLog,
    SlidingWindow,
    Smooth,
    Statistics,
    StoreError,
    TidegateError,
    TokenBucket,
    __version__,
    json_schema,
)
from tidegate.testing import Clock

if TYPE_CHECKING:
    from typing_extensions import assert_type

else:

    def assert_type(value: object, _kind: object) -> object:
        return value


LOGIN = Bucket("login", size=10, drip_rate=timedelta(seconds=1), drip_size=1, factor_scales="size-and-rate")
API = TokenBucket("api", count=100, period=1000.5, burst=None)
DAILY = FixedWindow("daily", max=1000, period=timedelta(days=1), anchor="first-request")
NOTES = Legacy("notes/create", max=300, duration=3_600_000, min_interval=None, translation="exact")
SMS = SlidingWindow("sms", max=5, period=timedelta(hours=1), resolution=600_000, count_blocked=True)
WEB = SlidingCounter("web", max=100, period=60_000)
JOBS = Concurrency("jobs", max=1, lease=60_000)
OTP = SlidingLog("otp", max=5, period=60_000, min_interval=timedelta(seconds=1), count_blocked=False)
SCORE = Decay("score", max=5, decay_factor=1.5, resolution=1000, count_blocked=True)
MAILER = Smooth("mailer", rate=0.5, max_burst=1000, warmup=timedelta(seconds=3), cold_factor=3)
PLAN = CalendarWindow("plan", max=10_000, unit="month", time_zone="Europe/Berlin", starts_on=15)
WIRE: Mapping[str, object] = {"key": "login", "type": "bucket", "size": 10}
LITERAL = {"key": "login", "type": "bucket", "size": 10}


def by_plan(plan: str) -> Limit:
    return LOGIN if plan == "free" else API


def faults() -> list[tuple[str, str]]:
    try:
        Limits.from_text("api: 5", "yaml")
    except LimitsError as error:
        assert_type(error.errors, tuple[Fault, ...])
        assert_type(error.errors[0].line, "int | None")
        return [(fault.path, fault.message) for fault in error.errors]
    raise AssertionError


def definitions() -> None:
    assert_type(LOGIN.size, float)
    assert_type(LOGIN.factor_scales, Literal["size", "size-and-rate"])
    assert_type(SMS.count_blocked, bool)
    assert_type(WEB.max + OTP.min_interval + SCORE.decay_factor + MAILER.cold_factor, float)
    assert_type(API.burst, "float | None")
    assert_type(DAILY.anchor, Literal["epoch", "first-request"])
    assert_type(NOTES.min_interval, "float | None")
    assert_type(Limit.from_dict(WIRE), Limit)
    assert_type(Limit.parse("api", "100/minute"), Limit)
    assert_type(Limit.parse_all("api", "100/minute; 10/second"), "list[Limit]")
    assert_type(Limits.from_dict({"api": "100/minute", "login": LOGIN}), Limits)
    assert_type(LOGIN.explain(0.5), Explanation)
    assert_type(LOGIN.explain().to_dict(), dict[str, Any])
    assert_type(json_schema(), str)
    assert_type(Limits.from_text("api: 100/minute", "yaml")["api"], Limit)
    assert_type(LOGIN.to_dict(), "dict[str, str | float | bool]")
    assert_type(hash(LOGIN), int)
    assert_type(LOGIN == API, bool)
    assert_type(LOGIN.key, str)
    assert_type(__version__, str)


def calls(limiter: Limiter) -> LimitInfo:
    assert_type(limiter.limit(LOGIN, "ada"), LimitInfo)
    assert_type(limiter.limit(LITERAL, "ada", 1, 1.0, None), LimitInfo)
    assert_type(limiter.peek([LOGIN, API], "ada", cost=2, factor=0.5, now=1.5), LimitInfo)
    assert_type(limiter.peek([SMS, WEB, OTP, SCORE, MAILER], "ada"), LimitInfo)
    assert_type(limiter.charge((API, WIRE), "ada"), LimitInfo)
    assert_type(limiter.refund([LOGIN], "ada"), LimitInfo)
    assert_type(limiter.acquire(LOGIN, "ada", max_wait=2.0), LimitInfo)
    assert_type(limiter.limit(LOGIN, "ada", cost=5, at_least=2).granted, int)
    assert_type(limiter.observe(LOGIN, "ada", remaining=3, retry_after=timedelta(seconds=1)), LimitInfo)
    assert_type(limiter.acquire(LOGIN, "ada", max_wait=timedelta(seconds=2)), LimitInfo)
    assert_type(limiter.peek_all([(LOGIN, "ada")]), LimitInfo)
    assert_type(limiter.refund(limiter.limit(LOGIN, "ada")), LimitInfo)
    assert_type(limiter.settle(limiter.limit(LOGIN, "ada"), 1, now=None), LimitInfo)
    assert_type(limiter.settle(limiter.limit_all([(LOGIN, "ada")]), [1]), LimitInfo)
    by_key: dict[str, int] = {"login": 1}
    by_place: dict[int, int] = {1: 1}
    mixed: dict[str | int, int] = {"login": 1}
    for costs in (by_key, by_place, mixed):
        with limiter.hold([JOBS, LOGIN], "bob") as held:
            held.settle(costs)
    assert_type(limiter.limit(by_plan, "ada", context="paid"), LimitInfo)
    assert_type(limiter.limit_all([(by_plan, "ada")], context="paid"), LimitInfo)
    assert_type(limiter.explain([LOGIN, by_plan], "ada", context="paid"), CallExplanation)
    assert_type(limiter.explain(LOGIN, "ada").info, LimitInfo)
    assert_type(limiter.entries, int)
    assert_type(limiter.evictions, int)
    assert_type(limiter.overflowed, int)
    assert_type(limiter.stats(), Statistics)
    assert_type([row.count for row in limiter.top(3).denied], list[int])
    limiter.reset([LOGIN, API], "ada")
    return limiter.limit_all([(LOGIN, "ada"), (WIRE, "eve", 2), (API, "ada", 5, 0.5)], now=None)


def with_a_clock_of_ones_own() -> None:
    clock = Clock(datetime(2024, 1, 1, tzinfo=timezone.utc))
    clock.advance(timedelta(seconds=1))
    assert_type(clock(), float)
    with Limiter(clock=clock) as limiter:
        assert_type(limiter, Limiter)
        any_limit(limiter, LOGIN, WIRE, [(LOGIN, "ada")])
    limiter.close()
    AsyncLimiter(clock=lambda: 0).close()
    assert_type(LimitInfo(blocked=True, key="login", checks=[LimitInfo()]).checks, "tuple[LimitInfo, ...]")
    with contextlib.suppress(ClosedError, TidegateError):
        limiter.limit(LOGIN, "ada")


def any_limit(limiter: Limiter, limit: Limited, definition: Definition, checks: list[Check]) -> None:
    assert_type(limiter.limit(limit, "ada"), LimitInfo)
    assert_type(limiter.limit(definition, "ada"), LimitInfo)
    assert_type(limiter.limit_all(checks), LimitInfo)


def answer(info: LimitInfo) -> None:
    assert_type(info.blocked, bool)
    assert_type(info.allowed, bool)
    assert_type(info.to_dict(), dict[str, Any])
    assert_type(info.degraded, bool)
    for number in (info.remaining, info.reset_ms, info.reset_sec, info.full_reset_ms, info.full_reset_sec):
        assert_type(number, int)
    for number in (info.wait_ms, info.next_ms, info.window_ms, info.quota, info.binding):
        assert_type(number, int)
    assert_type(info.key, str)
    assert_type(info.checks, "tuple[LimitInfo, ...]")
    assert_type(info.headers(), "dict[str, str]")
    assert_type(info.headers("ietf", draft=7), "dict[str, str]")


async def coroutines(limiter: AsyncLimiter) -> None:
    answer(await limiter.limit(LOGIN, "ada", cost=1, factor=1.0, now=None))
    answer(await limiter.peek([API, WIRE], "ada"))
    answer(await limiter.charge(LITERAL, "ada"))
    answer(await limiter.refund(LOGIN, "ada"))
    answer(await limiter.refund(await limiter.limit(LOGIN, "ada")))
    answer(await limiter.settle(await limiter.limit(by_plan, "ada", context="free"), 1))
    assert_type(await limiter.explain(LOGIN, "ada"), CallExplanation)
    answer(await limiter.acquire(LOGIN, "ada", max_wait=timedelta(seconds=1)))
    answer(await limiter.limit_all([(LOGIN, "ada", 2)]))
    answer(await limiter.peek_all([(LOGIN, "ada")], now=1))
    await limiter.reset(LOGIN, "ada")
    assert_type(limiter.entries + limiter.evictions + limiter.overflowed, int)
    assert_type(limiter.stats(), Statistics)
    assert_type([actor for actor, _, _ in limiter.top().charged], list[str])


def counted(stats: Statistics) -> int:
    assert_type(stats.failures, "dict[str, int]")
    assert_type(stats.breaker, Literal["closed", "open"])
    assert_type(stats.latency, Latency)
    assert_type(stats.latency.buckets, "tuple[tuple[float | None, int], ...]")
    assert_type(stats.latency.sum, float)
    return stats.decisions + stats.admitted + stats.blocked + stats.failed + stats.degraded + stats.deny_cache_hits


def shared() -> str:
    limiter = Limiter("redis://127.0.0.1:1", namespace="shop", timeout=timedelta(seconds=1), on_error="raise")
    AsyncLimiter(
        "rediss://127.0.0.1:1",
        timeout=0.5,
        on_error="deny",
        max_entries=1000,
        deny_cache=timedelta(seconds=2),
        wait_replicas=1,
        strategy="script",
        layout="sharkey",
        ssl_ca_certs=None,
        ssl_certfile=None,
        ssl_keyfile=None,
    )
    try:
        limiter.limit(LOGIN, "ada")
    except StoreError as error:
        assert_type(error.failure, str)
        return error.failure
    raise AssertionError


def failures() -> tuple[str, str, str]:
    try:
        Bucket("login", size=-1)
    except StoreError:
        raise
    except LimitError as error:
        return error.key, error.field, error.value
    raise AssertionError


def main() -> None:
    definitions()
    with_a_clock_of_ones_own()
    answer(calls(Limiter("memory://", namespace="shop", max_entries=1000)))
    asyncio.run(coroutines(AsyncLimiter(namespace="shop")))
    assert [path for path, _ in faults()] == ["api"]
    assert counted(Limiter().stats()) == 0
    assert shared() in {"unreachable", "unavailable"}
    assert failures() == ("login", "size", "-1")
