"""The answer and its headers."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import weakref
from typing import Any

import pytest

from tidegate import AsyncLimiter, Bucket, Legacy, Limiter, LimitError, LimitInfo, Limits, TokenBucket

NOW = 1_700_000_000_000
LOGIN = Bucket("login", size=2)
API = TokenBucket("api", count=100, period=60_000)
UNLIMITED = 2**53 - 1


def denied() -> LimitInfo:
    limiter = Limiter()
    limiter.charge(LOGIN, "ada", 2, now=NOW)
    return limiter.limit(LOGIN, "ada", now=NOW + 245)


def several() -> LimitInfo:
    limiter = Limiter()
    limiter.charge(LOGIN, "ada", 2, now=NOW)
    return limiter.limit([API, LOGIN], "ada", now=NOW)


def test_every_field_of_a_denial() -> None:
    info = denied()
    assert (info.blocked, info.remaining, info.wait_ms) == (True, 0, 0)
    assert (info.reset_ms, info.reset_sec) == (755, 1)
    assert (info.full_reset_ms, info.full_reset_sec) == (1755, 2)
    assert (info.key, info.quota, info.binding, info.checks) == ("login", 2, 0, (info,))
    assert repr(info) == (
        "LimitInfo(blocked=True, remaining=0, reset_ms=755, full_reset_ms=1755, wait_ms=0, "
        "key='login', actor='ada', quota=2, binding=0, degraded=False)"
    )


def test_several_checks_are_answered_one_by_one() -> None:
    info = several()
    assert (info.blocked, info.binding, info.key, info.quota) == (True, 1, "login", 2)
    assert [(check.key, check.blocked, check.remaining) for check in info.checks] == [
        ("api", False, 100),
        ("login", True, 0),
    ]
    assert info.checks is info.checks
    assert [check.checks for check in info.checks] == [(check,) for check in info.checks]


def test_the_actor_of_an_answer() -> None:
    limiter, ada = Limiter(), "".join(["a", "da"])
    alone = limiter.limit(LOGIN, ada, now=NOW)
    assert alone.actor is ada
    assert limiter.explain(LOGIN, ada, now=NOW).info.actor is ada
    together = limiter.limit([API, LOGIN], ada, now=NOW)
    assert [info.actor for info in (together, *together.checks)] == ["ada"] * 3
    eve = "".join(["e", "ve"])
    each = limiter.limit_all([(API, ada), (LOGIN, eve), (API, "bob", 5)], now=NOW)
    assert (each.key, each.actor) == ("login", "eve")
    assert [check.actor for check in each.checks] == ["ada", "eve", "bob"]
    assert each.actor is each.checks[1].actor is eve
    assert limiter.refund(alone).actor is ada
    notes = Legacy("notes", max=3, duration=3000, min_interval=500, translation="exact")
    assert [check.actor for check in limiter.limit(notes, ada, now=NOW).checks] == ["ada", "ada"]


def test_answers_are_frozen() -> None:
    info = denied()
    with pytest.raises(AttributeError):
        info.blocked = False  # type: ignore[misc]


def test_an_answer_is_neither_true_nor_false() -> None:
    for info in (denied(), several(), LimitInfo()):
        with pytest.raises(TypeError, match=r"\.blocked"):
            bool(info)
        with pytest.raises(TypeError, match=r"\.allowed"):
            _ = not info
        assert info.allowed is not info.blocked


def test_an_answer_as_a_dict() -> None:
    for info in (denied(), several(), LimitInfo(key="login")):
        shown = info.to_dict()
        checks = shown.pop("checks", None)
        assert shown == {name: getattr(info, name) for name in shown}
        missing = {name for name in dir(info) if not name.startswith("_")} - shown.keys()
        assert missing == {"checks", "headers", "observed", "to_dict"}
        assert checks == ([check.to_dict() for check in info.checks] if len(info.checks) > 1 else None)
        assert json.loads(json.dumps(info.to_dict())) == info.to_dict()


def test_answers_can_be_made_for_tests() -> None:
    plain = LimitInfo()
    assert (plain.allowed, plain.remaining, plain.reset_ms, plain.key, plain.binding) == (True, 2**53 - 1, 0, "", 0)
    assert (plain.quota, LimitInfo(blocked=True).remaining) == (2**53 - 1, 0)
    assert plain.actor == ""
    assert plain.checks == (plain,)
    made = LimitInfo(
        blocked=True,
        remaining=3,
        reset_ms=1500,
        full_reset_ms=9000,
        wait_ms=1,
        next_ms=2,
        quota=10,
        window_ms=10_000,
        degraded=True,
        key="login",
        actor="ada",
    )
    assert (made.reset_sec, made.full_reset_sec, made.next_ms, made.window_ms) == (2, 9, 2, 10_000)
    assert made.headers("both")["RateLimit-Policy"] == '"login";q=10;w=10'
    assert made.headers()["Retry-After"] == "2"
    assert pickle.loads(pickle.dumps(made)) == made
    assert eval(repr(made)) == LimitInfo(
        blocked=True,
        remaining=3,
        reset_ms=1500,
        full_reset_ms=9000,
        wait_ms=1,
        quota=10,
        degraded=True,
        key="login",
        actor="ada",
    )
    both = LimitInfo(blocked=True, key="login", binding=1, checks=[plain, made])
    assert both.checks == (plain, made)
    assert both.binding == 1
    wrong: dict[str, Any] = {
        "remaining": -1,
        "quota": 1.5,
        "key": 5,
        "actor": 5,
        "blocked": 1,
        "binding": 1,
        "reset_ms": 2**60,
    }
    for name, value in wrong.items():
        with pytest.raises(LimitError, match=f"^{name} must be"):
            LimitInfo(**{name: value})
    with pytest.raises(TypeError):
        LimitInfo(True)  # type: ignore[call-arg]
    with pytest.raises(LimitError, match="must be the answer that a call of this limiter gave"):
        Limiter().refund(made)


def test_until_the_next_unit_and_the_window() -> None:
    info = Limiter().limit(Bucket("login", size=10, drip_rate=1000), "ada", now=0)
    assert (info.next_ms, info.window_ms) == (1000, 10_000)


def test_answers_and_what_they_are_of_can_be_referred_to_weakly() -> None:
    limiter, login = Limiter(), Bucket("login", size=10)
    asynchronous, info = AsyncLimiter(), limiter.limit(login, "ada")
    held = [limiter, asynchronous, login, info, login.explain(), limiter.explain(login, "ada")]
    held.append(Limits.from_text("{}", "json"))
    references = [weakref.ref(thing) for thing in held]
    assert [reference() for reference in references] == held
    del limiter, login, asynchronous, info, held
    gc.collect()
    assert [reference() for reference in references] == [None] * len(references)


@pytest.mark.parametrize("make", [denied, several])
def test_copies_are_equal(make: object) -> None:
    info = make()  # type: ignore[operator]
    assert info == make()  # type: ignore[operator]
    copies = [copy.copy(info), copy.deepcopy(info)]
    copies += [pickle.loads(pickle.dumps(info, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for other in copies:
        assert other == info
        assert hash(other) == hash(info)
        assert (other.checks, other.binding, other.key) == (info.checks, info.binding, info.key)
        assert other.headers("both") == info.headers("both")


def test_answers_that_differ() -> None:
    limiter = Limiter()
    first = limiter.limit(LOGIN, "ada", now=NOW)
    assert first != limiter.limit(LOGIN, "ada", now=NOW)
    assert first != limiter.limit(Bucket("other", size=2), "ada", now=NOW)
    assert first == Limiter().limit(LOGIN, "ada", now=NOW)
    assert first != limiter.limit(LOGIN, "eve", now=NOW)
    assert first != several()
    assert first != "login"
    assert len({first, Limiter().limit(LOGIN, "ada", now=NOW), denied()}) == 2


def test_headers_of_a_denial() -> None:
    x = {"X-RateLimit-Remaining": "0", "X-RateLimit-Clear": "1.755", "X-RateLimit-Reset": "0.755", "Retry-After": "1"}
    ietf = {"RateLimit-Policy": '"login";q=2;w=2', "RateLimit": '"login";r=0;t=1'}
    info = denied()
    assert info.headers() == info.headers("x") == x
    assert info.headers("ietf") == info.headers("ietf", draft=11) == ietf
    assert info.headers("both") == {**x, **ietf}
    assert info.headers("ietf", draft=7) == {"RateLimit-Policy": "2;w=2", "RateLimit": "limit=2, remaining=0, reset=1"}
    assert info.headers("ietf", draft=6) == {
        "RateLimit-Policy": "2;w=2",
        "RateLimit-Limit": "2",
        "RateLimit-Remaining": "0",
        "RateLimit-Reset": "1",
    }


def test_headers_of_no_limit() -> None:
    info = Limiter().limit(Legacy("open"), "ada")
    assert (info.blocked, info.remaining, info.quota, info.full_reset_ms) == (False, UNLIMITED, UNLIMITED, 0)
    assert info.headers("ietf") == {}


@pytest.mark.parametrize("kind", ["", "X", "all", "\0"])
def test_unknown_kinds_of_headers(kind: str) -> None:
    with pytest.raises(ValueError, match="kind must be"):
        denied().headers(kind)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [None, 1, b"x", []])
def test_kinds_of_headers_that_are_not_strings(kind: object) -> None:
    with pytest.raises(LimitError, match="kind must be one of"):
        denied().headers(kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "draft",
    [-1, 0, 5, 8, 12, 7.5, 2**32 + 7, 10**400, True, "7", None, object()],
    ids=lambda draft: type(draft).__name__,
)
def test_unknown_drafts(draft: object) -> None:
    with pytest.raises(ValueError, match="draft must be"):
        denied().headers("ietf", draft=draft)  # type: ignore[arg-type]


def test_a_legacy_limit_taken_at_its_word_is_two_checks_of_one_key() -> None:
    notes = Legacy("notes", max=3, duration=3000, min_interval=500, translation="exact")
    info = Limiter().limit(notes, "ada", now=NOW)
    assert [(check.key, check.quota) for check in info.checks] == [("notes", 3), ("notes", 1)]
    assert (info.key, info.binding) == ("notes", 1)


def test_every_check_knows_its_key_whatever_stands_beside_it() -> None:
    notes = Legacy("notes", max=3, duration=3000, min_interval=500, translation="exact")
    limiter = Limiter()
    checks = [(LOGIN, "ada"), (notes, "ada", 1, 0), (notes, "eve"), (Legacy("open"), "ada"), (API, "ada", 5, 0.5)]
    info = limiter.limit_all(checks, now=NOW)  # type: ignore[arg-type]
    assert [(check.key, check.quota) for check in info.checks] == [
        ("login", 2),
        ("notes", UNLIMITED),
        ("notes", 3),
        ("notes", 1),
        ("open", UNLIMITED),
        ("api", 200),
    ]
    assert (info.binding, info.key) == (3, "notes")
