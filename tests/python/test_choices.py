"""Limits that a function chooses when the call is made."""

from __future__ import annotations

from typing import Any

import pytest

from calls import AnyLimiter, done
from tidegate import Bucket, LimitError, TokenBucket

NOW = 1_700_000_000_000
FREE = Bucket("plan", size=2)
PAID = Bucket("plan", size=20)
DAY = TokenBucket("day", count=100, period=100_000)


def by_plan(user: Any) -> Any:
    return PAID if user == "paid" else FREE


def test_every_verb_takes_a_function(limiter: AnyLimiter) -> None:
    paid: Any = {"now": NOW, "context": "paid"}
    assert done(limiter.limit(by_plan, "ada", **paid)).remaining == 19
    assert done(limiter.charge(by_plan, "ada", **paid)).remaining == 18
    assert done(limiter.peek(by_plan, "ada", **paid)).quota == 20
    assert done(limiter.refund(by_plan, "ada", **paid)).remaining == 19
    assert done(limiter.acquire(by_plan, "ada", **paid)).remaining == 18
    assert "18 of 20" in str(done(limiter.explain(by_plan, "ada", **paid)))
    done(limiter.reset(by_plan, "ada", context="paid"))
    assert limiter.entries == 0
    assert done(limiter.acquire(by_plan, "ada", context="paid")).quota == 20


def test_without_a_context_it_is_called_with_none(limiter: AnyLimiter) -> None:
    seen: list[object] = []

    def choose(context: object) -> Bucket:
        seen.append(context)
        return FREE

    assert done(limiter.limit(choose, "ada")).quota == 2
    assert done(limiter.limit(choose, "ada", context=None)).quota == 2
    assert done(limiter.acquire(choose, "ada", now=NOW, max_wait=60)).quota == 2
    assert done(limiter.acquire(choose, "ada", max_wait=0)).quota == 2
    assert seen == [None] * 4


def test_it_may_choose_several_or_a_mapping(limiter: AnyLimiter) -> None:
    def both(context: Any) -> Any:
        return [by_plan(context), {"key": "wire", "type": "bucket", "size": 5}]

    info = done(limiter.limit(both, "ada", context="paid", now=NOW))
    assert [check.quota for check in info.checks] == [20, 5]
    info = done(limiter.limit([DAY, both], "ada", context="paid", now=NOW))
    assert [check.remaining for check in info.checks] == [99, 18, 3]


def test_checks_for_several_actors_take_functions(limiter: AnyLimiter) -> None:
    checks: Any = [(by_plan, "ada", 2), (DAY, "eve", 5)]
    info = done(limiter.limit_all(checks, NOW, context="paid"))
    assert [check.remaining for check in info.checks] == [18, 95]
    assert done(limiter.peek_all(checks, NOW)).checks[0].quota == 2


def test_what_it_raises_or_returns_wrongly(limiter: AnyLimiter) -> None:
    def broken(_: object) -> Bucket:
        raise KeyError("plan")

    with pytest.raises(KeyError, match="plan"):
        done(limiter.limit(broken, "ada"))
    for wrong in (None, "10/s", 5, by_plan):
        with pytest.raises(LimitError, match="limit must be a definition"):
            done(limiter.limit(lambda _, wrong=wrong: wrong, "ada"))  # type: ignore[misc]
    assert limiter.entries == 0


def test_an_answer_gives_back_to_what_was_chosen_then(limiter: AnyLimiter) -> None:
    info = done(limiter.limit(by_plan, "ada", 5, context="paid", now=NOW))
    assert done(limiter.refund(info, now=NOW)).remaining == 20
