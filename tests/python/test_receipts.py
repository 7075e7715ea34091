"""Answers as receipts: given back or settled once, however late."""

from __future__ import annotations

import asyncio
import copy
import pickle
from typing import Any

import pytest

from calls import AnyLimiter, done
from tidegate import AsyncLimiter, Bucket, Limiter, LimitError, LimitInfo, SlidingLog, TokenBucket

NOW = 1_700_000_000_000
LOGIN = Bucket("login", size=10)
API = TokenBucket("api", count=100, period=100_000)
OTP = SlidingLog("otp", max=2, period=60_000, count_blocked=True)


def left(limiter: AnyLimiter, limit: Any = LOGIN, now: int = NOW, actor: str = "ada") -> int:
    remaining: int = done(limiter.peek(limit, actor, now=now)).remaining
    return remaining


@pytest.mark.parametrize("verb", ["limit", "charge", "acquire"])
def test_what_a_call_charged_comes_back_once(limiter: AnyLimiter, verb: str) -> None:
    done(limiter.limit(LOGIN, "ada", 3, now=NOW))
    info = done(getattr(limiter, verb)(LOGIN, "ada", 4, now=NOW))
    assert left(limiter) == 3
    assert done(limiter.refund(info, now=NOW)).remaining == 7
    again = done(limiter.refund(info, now=NOW))
    assert (again.remaining, again.key, again.blocked) == (7, "login", False)
    assert done(limiter.settle(info, 9, NOW)).remaining == 7


def test_what_has_drained_is_not_given_back(limiter: AnyLimiter) -> None:
    info = done(limiter.limit(LOGIN, "ada", 4, now=NOW))
    done(limiter.limit(LOGIN, "ada", 5, now=NOW + 3000))
    assert left(limiter, now=NOW + 3000) == 4
    assert done(limiter.refund(info, now=NOW + 3000)).remaining == 5
    late = done(limiter.limit(LOGIN, "eve", 4, now=NOW))
    done(limiter.limit(LOGIN, "eve", 6, now=NOW + 60_000))
    assert done(limiter.refund(late, now=NOW + 60_000)).remaining == 4


def test_there_is_nothing_to_give_back_where_nothing_was_charged(limiter: AnyLimiter) -> None:
    charged = done(limiter.limit(LOGIN, "ada", 10, now=NOW))
    denied = done(limiter.limit(LOGIN, "ada", 3, now=NOW))
    assert denied.blocked
    peeked = done(limiter.peek(LOGIN, "ada", 3, now=NOW))
    refunded = done(limiter.refund(LOGIN, "ada", 1, now=NOW))
    again = done(limiter.refund(charged, now=NOW))
    assert again.remaining == 10
    done(limiter.limit(LOGIN, "ada", 6, now=NOW))
    for info in (denied, peeked, refunded, again, done(limiter.explain(LOGIN, "ada", now=NOW)).info):
        assert done(limiter.refund(info, now=NOW)).remaining == 4
        assert done(limiter.settle(info, 9, NOW)).remaining == 4


def test_a_denied_attempt_that_counted_comes_back(limiter: AnyLimiter) -> None:
    infos = [done(limiter.limit([OTP, LOGIN], "ada", now=NOW + at)) for at in range(3)]
    assert [info.blocked for info in infos] == [False, False, True]
    assert left(limiter, LOGIN, NOW + 2) == 8
    assert done(limiter.limit(OTP, "ada", now=NOW + 3)).blocked
    # The log keeps the last two attempts, both of them denied.
    assert left(limiter, OTP, NOW + 4) == 0
    assert done(limiter.refund(infos[2], now=NOW + 4)).checks[0].remaining == 1
    assert done(limiter.refund(infos[2], now=NOW + 4)).checks[0].remaining == 1
    assert left(limiter, LOGIN, NOW + 4) == 8


def test_several_checks_come_back_together(limiter: AnyLimiter) -> None:
    info = done(limiter.limit_all([(LOGIN, "203.0.113.9", 2), (API, "ada", 50, 0.5)], now=NOW))
    after = done(limiter.refund(info, now=NOW))
    assert [check.remaining for check in after.checks] == [10, 200]
    assert done(limiter.refund(info, now=NOW)).checks == after.checks
    assert limiter.entries == 0


def test_settling_gives_back_or_charges_the_difference(limiter: AnyLimiter) -> None:
    info = done(limiter.limit(API, "ada", 50, now=NOW))
    assert done(limiter.settle(info, 20, NOW)).remaining == 80
    assert done(limiter.settle(info, 0, NOW)).remaining == 80
    assert done(limiter.refund(info, now=NOW)).remaining == 80
    more = done(limiter.limit(API, "ada", 10, now=NOW))
    assert done(limiter.settle(more, 90, NOW)).remaining == 0
    assert done(limiter.peek(API, "ada", now=NOW)).reset_ms == 11_000
    same = done(limiter.charge(API, "eve", 10, now=NOW))
    assert done(limiter.settle(same, 10, now=NOW)).remaining == 90
    assert done(limiter.settle(same, 0, now=NOW)).remaining == 90


def test_a_late_settlement_leaves_what_the_actual_cost_would_have_left(limiter: AnyLimiter) -> None:
    for seconds, remaining in [(0, 6), (3, 9), (4, 10), (7, 10), (60, 10)]:
        actor = f"after {seconds} s"
        info = done(limiter.limit(LOGIN, actor, 8, now=NOW))
        assert done(limiter.settle(info, 4, NOW + 1000 * seconds)).remaining == remaining
        # The same where a later call stands on top of it.
        info = done(limiter.limit(LOGIN, "eve", 8, now=NOW + 1_000_000 * (seconds + 1)))
        later = NOW + 1_000_000 * (seconds + 1) + 1000 * seconds
        done(limiter.charge(LOGIN, "eve", 2, now=later))
        assert done(limiter.settle(info, 4, later)).remaining == remaining - 2


def test_what_one_decision_charged_twice_has_drained_once(limiter: AnyLimiter) -> None:
    info = done(limiter.limit_all([(LOGIN, "ada", 4), (LOGIN, "ada", 4)], now=NOW))
    done(limiter.charge(LOGIN, "ada", 5, now=NOW + 3000))
    assert left(limiter, now=NOW + 3000) == 0
    assert done(limiter.refund(info, now=NOW + 3000)).remaining == 5
    settled = done(limiter.limit_all([(LOGIN, "eve", 4), (LOGIN, "eve", 5)], now=NOW))
    assert done(limiter.settle(settled, [4, 1], NOW + 3000)).remaining == 8


def test_settling_several_checks(limiter: AnyLimiter) -> None:
    checks: Any = [(LOGIN, "ada", 2), (API, "ada", 50)]
    info = done(limiter.limit_all(checks, now=NOW))
    for wrong in (3, [3], [3, 4, 5]):
        with pytest.raises(LimitError, match="a list of one cost for each check"):
            done(limiter.settle(info, wrong, NOW))
    assert [check.remaining for check in done(limiter.settle(info, [5, 20], NOW)).checks] == [5, 80]
    equal = done(limiter.limit([LOGIN, API], "eve", 4, now=NOW))
    assert [check.remaining for check in done(limiter.settle(equal, 1, NOW)).checks] == [9, 99]


@pytest.mark.parametrize("cost", [-1, 0.5, float("nan"), 2**53 + 2, "1", None, True])
def test_a_settlement_that_cannot_be_leaves_the_receipt_open(limiter: AnyLimiter, cost: Any) -> None:
    info = done(limiter.limit(LOGIN, "ada", 4, now=NOW))
    with pytest.raises(LimitError) as caught:
        done(limiter.settle(info, cost, NOW))
    assert (caught.value.key, caught.value.field) == ("login", "cost")
    with pytest.raises(LimitError, match="now"):
        done(limiter.refund(info, now=-1))
    with pytest.raises(LimitError):
        done(limiter.settle(info, 2**53, NOW))
    assert done(limiter.refund(info, now=NOW)).remaining == 10


def test_answers_that_are_not_receipts_of_this_limiter(limiter: AnyLimiter) -> None:
    info = done(limiter.limit([LOGIN, API], "ada", now=NOW))
    strange = [Limiter().limit(LOGIN, "ada"), info.checks[0], pickle.loads(pickle.dumps(info))]
    for other in strange:
        with pytest.raises(LimitError, match="info must be the answer that a call of this limiter gave"):
            done(limiter.refund(other))
        with pytest.raises(LimitError, match="info must be"):
            done(limiter.settle(other, 1))
    for nonsense in (None, "ada", LOGIN):
        with pytest.raises(LimitError, match="info must be the answer of a call"):
            done(limiter.settle(nonsense, 1))  # type: ignore[arg-type]
    with pytest.raises(LimitError, match="info must stand alone"):
        done(limiter.refund(info, "ada"))
    with pytest.raises(LimitError, match="info must stand alone"):
        done(limiter.refund(info, cost=2))  # type: ignore[call-overload]
    with pytest.raises(LimitError, match="actor must be a string"):
        done(limiter.refund(LOGIN))  # type: ignore[call-overload]
    assert left(limiter) == 9


def test_a_copy_is_the_same_receipt(limiter: AnyLimiter) -> None:
    info = done(limiter.limit(LOGIN, "ada", 4, now=NOW))
    done(limiter.limit(LOGIN, "ada", 5, now=NOW))
    for receipt in (info, copy.copy(info), copy.deepcopy([info])[0]):
        assert done(limiter.refund(receipt, now=NOW)).remaining == 5


def test_an_acquire_that_waited_is_a_receipt(limiter: AnyLimiter) -> None:
    mail = Bucket("mail", size=2, drip_rate=50)
    done(limiter.charge(mail, "ada", 2, now=NOW))
    info = done(limiter.acquire(mail, "ada", 2, now=NOW))
    assert (info.wait_ms, info.full_reset_ms) == (100, 200)
    assert done(limiter.refund(info, now=NOW)).full_reset_ms == 100
    queued = SlidingLog("queued", max=1, period=60_000)
    first = done(limiter.acquire(queued, "ada"))
    turned_away = done(limiter.acquire(queued, "ada", max_wait=0))
    assert turned_away.blocked
    assert done(limiter.refund(turned_away)).remaining == 0
    assert done(limiter.refund(first)).remaining == 1


def test_an_actor_of_a_subclass_is_remembered_as_text() -> None:
    class Name(str):
        __slots__ = ()

    limiter = Limiter()
    info = limiter.limit(LOGIN, Name("ada"), now=NOW)
    assert limiter.refund(info, now=NOW).remaining == 10


def test_a_definition_written_as_a_dict_can_change_afterwards(limiter: AnyLimiter) -> None:
    wire: dict[str, object] = {"key": "login", "type": "bucket", "size": 10}
    info = done(limiter.limit(wire, "ada", 3, now=NOW))
    wire["key"] = "other"
    assert done(limiter.refund(info, now=NOW)).key == "login"
    assert left(limiter) == 10


def test_coroutines_settle_too() -> None:
    async def main() -> LimitInfo:
        limiter = AsyncLimiter()
        info = await limiter.limit(API, "ada", 50, now=NOW)
        return await limiter.settle(info, 20, now=NOW)

    assert asyncio.run(main()).remaining == 80
