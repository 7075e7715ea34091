"""Answers as receipts: the sequences that all languages share, and what is Python's own."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from calls import AnyLimiter, done
from server import RedisServer
from tidegate import AsyncLimiter, Bucket, Limiter, LimitError, LimitInfo, SlidingLog, SlidingWindow, TokenBucket

NOW = 1_700_000_000_000
LOGIN = Bucket("login", size=10)
API = TokenBucket("api", count=100, period=100_000)
SEQUENCES = json.loads((Path(__file__).parents[1] / "vectors" / "receipts.json").read_text())["sequences"]
NAMESPACES = itertools.count()


def fields(info: LimitInfo, want: dict[str, Any]) -> dict[str, Any]:
    """The wanted fields of an answer."""
    got = {
        "blocked": info.blocked,
        "remaining": info.remaining,
        "resetMs": info.reset_ms,
        "fullResetMs": info.full_reset_ms,
        "waitMs": info.wait_ms,
    }
    return {name: got[name] for name in want}


def asked(limiter: AnyLimiter, limits: dict[str, Any], step: dict[str, Any]) -> LimitInfo | None:
    checks = [
        (limits[check["limit"]], check["actor"], check["cost"], check.get("factor", 1)) for check in step["checks"]
    ]
    if len(checks) > 1:
        return done(limiter.limit_all(checks, now=step["now"]))  # type: ignore[no-any-return]
    limit, actor, cost, factor = checks[0]
    if step["call"] == "reset":
        return done(limiter.reset(limit, actor))  # type: ignore[no-any-return]
    extra = {"max_wait": step["maxWaitMs"] / 1000} if step["call"] == "acquire" else {}
    return done(getattr(limiter, step["call"])(limit, actor, cost, factor, step["now"], **extra))  # type: ignore[no-any-return]


def test_a_call_that_took_what_there_was_gives_back_what_it_got(limiter: AnyLimiter) -> None:
    bucket = Bucket("tokens", size=300, drip_rate=1000)
    info = done(limiter.limit(bucket, "ada", 500, now=NOW, at_least=50))
    assert (info.granted, info.remaining, info.to_dict()["granted"]) == (300, 0, 300)
    assert done(limiter.settle(info, 120, now=NOW)).remaining == 180
    info = done(limiter.limit(bucket, "ada", 500, now=NOW, at_least=50))
    assert info.granted == 180
    assert done(limiter.refund(info, now=NOW)).remaining == 180
    denied = done(limiter.limit(bucket, "ada", 500, now=NOW, at_least=181))
    assert (denied.blocked, denied.granted, denied.reset_ms) == (True, 0, 1000)
    assert done(limiter.refund(denied, now=NOW)).remaining == 180
    assert done(limiter.limit(bucket, "ada", 7, now=NOW)).granted == 7
    assert done(limiter.refund(bucket, "ada", 7, now=NOW)).granted == 0


def test_a_denied_part_that_was_charged_is_given_back_and_no_more(limiter: AnyLimiter) -> None:
    codes = SlidingWindow("codes", max=5, period=60_000, resolution=60_000, count_blocked=True)
    wider = SlidingWindow("codes", max=100, period=60_000, resolution=60_000)
    done(limiter.limit(codes, "ada", 5, now=NOW))
    for spent, remaining in ((0, 95), (1, 94), (4, 90)):
        denied = done(limiter.limit(codes, "ada", 20, now=NOW, at_least=2))
        assert (denied.blocked, denied.granted) == (True, 0)
        done(limiter.settle(denied, spent, now=NOW))
        assert done(limiter.peek(wider, "ada", now=NOW)).remaining == remaining


def test_what_is_not_limited_gets_no_more_than_the_others(limiter: AnyLimiter, fleet: RedisServer) -> None:
    over_redis = type(limiter)(fleet.url, namespace=f"receipts-{next(NAMESPACES)}", timeout=10, on_error="raise")
    tokens, other = Bucket("tokens", size=300), Bucket("other", size=5)
    for store in (limiter, over_redis):
        checks = [(tokens, "free", 500, 0.0), (tokens, "ada", 500, 1.0)]
        for granted, blocked in ((300, False), (0, True)):
            info = done(store.limit_all(checks, now=NOW, at_least=50))
            assert (info.granted, info.blocked) == (granted, blocked)
            assert [check.granted for check in info.checks] == [granted, granted]
        assert done(store.limit(other, "free", 7, 0.0, NOW)).granted == 7


@pytest.mark.parametrize("at_least", [0, -1, 1.5, 501, float("nan"), "1", 2**53 + 2])
def test_a_least_part_that_is_none(limiter: AnyLimiter, at_least: Any) -> None:
    tokens = Bucket("tokens", size=300)
    for checks in ([tokens], [tokens, Bucket("other", size=300)]):
        with pytest.raises(LimitError, match="tokens") as caught:
            done(limiter.limit(checks, "ada", 500, now=NOW, at_least=at_least))
        assert caught.value.field in ("atLeast", "at_least")
    with pytest.raises(LimitError, match="as for the other checks") as caught:
        done(limiter.limit_all([(tokens, "ada", 5), (tokens, "bob", 6)], now=NOW, at_least=1))
    assert caught.value.field == "cost"
    assert done(limiter.peek(tokens, "ada", now=NOW)).remaining == 300


def play(sequence: dict[str, Any], limiter: AnyLimiter) -> None:
    receipts: dict[str, Any] = {}
    for step in sequence["steps"]:
        if "spent" in step:
            info = done(limiter.settle(receipts[step["use"]], step["spent"], step["now"]))
        elif "use" in step:
            info = done(limiter.refund(receipts[step["use"]], now=step["now"]))
        else:
            info = asked(limiter, sequence["limits"], step)
        if "want" in step:
            assert fields(info, step["want"]) == step["want"], step
        for check, want in zip(() if info is None else info.checks, step.get("each", ())):
            assert fields(check, want) == want, step
        if "receipt" in step:
            receipts[step["receipt"]] = info


@pytest.mark.parametrize("sequence", SEQUENCES, ids=range(len(SEQUENCES)))
def test_the_sequences_that_all_languages_share(sequence: dict[str, Any], limiter: AnyLimiter) -> None:
    play(sequence, limiter)


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
@pytest.mark.parametrize("sequence", SEQUENCES, ids=range(len(SEQUENCES)))
def test_the_same_over_a_server(sequence: dict[str, Any], kind: Any, fleet: RedisServer) -> None:
    namespace = f"receipts {next(NAMESPACES)}"
    play(sequence, kind(fleet.url, namespace=namespace, timeout=10, on_error="raise"))


def left(limiter: AnyLimiter, limit: Any = LOGIN, now: int = NOW, actor: str = "ada") -> int:
    remaining: int = done(limiter.peek(limit, actor, now=now)).remaining
    return remaining


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
        with pytest.raises(LimitError, match="info must be the answer to a call"):
            done(limiter.settle(nonsense, 1))  # type: ignore[arg-type]
    with pytest.raises(LimitError, match="info must be given alone"):
        done(limiter.refund(info, "ada"))
    with pytest.raises(LimitError, match="info must be given alone"):
        done(limiter.refund(info, cost=2))  # type: ignore[call-overload]
    with pytest.raises(LimitError, match="info must be the answer itself, which knows its charge, got its fields"):
        done(limiter.refund(info.to_dict()))
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
