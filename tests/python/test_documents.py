"""Definitions as text and in files, and what is said of them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, cast

import pytest

from calls import AnyLimiter, done
from tidegate import (
    Bucket,
    CalendarWindow,
    Decay,
    FixedWindow,
    Legacy,
    Limit,
    Limiter,
    LimitError,
    Limits,
    LimitsError,
    SlidingCounter,
    SlidingLog,
    SlidingWindow,
    Smooth,
    TokenBucket,
    json_schema,
)

NOW = 1_700_000_000_000
YAML = "limits:\n  api: 100/minute burst 20\n  login: {type: bucket, size: 10}\n"


def test_text_may_name_a_type() -> None:
    day = 86_400_000
    assert Limit.parse("k", "5/day fixed-window") == FixedWindow("k", max=5, period=day)
    assert Limit.parse("k", "5/month sliding-window") == SlidingWindow("k", max=5, period=30 * day, resolution=3 * day)
    assert Limit.parse("k", "5/2d sliding-counter") == SlidingCounter("k", max=5, period=2 * day)
    assert Limit.parse("k", "5/month calendar-window") == CalendarWindow("k", max=5, unit="month")
    assert Limit.parse("k", "5/year sliding-log") == SlidingLog("k", max=5, period=365 * day)


def test_text_may_be_a_list(limiter: AnyLimiter) -> None:
    limits = Limit.parse_all("api", "100/minute; 10/second")
    assert limits == [Limit.parse("api@1m", "100/minute"), Limit.parse("api@1s", "10/second")]
    info = done(limiter.limit(limits, "ada", 10, now=NOW))
    assert (info.remaining, info.key, [check.remaining for check in info.checks]) == (0, "api@1s", [90, 0])
    assert done(limiter.limit(limits, "ada", now=NOW)).blocked
    assert Limit.parse_all("api", "100/minute") == [Limit.parse("api", "100/minute")]
    with pytest.raises(LimitError, match='one limit alone, with nothing more, at character 6, got "; 10/s"'):
        Limit.parse("api", "100/m; 10/s")
    with pytest.raises(LimitError, match="a period that no limit before it has at character 6"):
        Limit.parse_all("api", "1/m; 2/60s")
    with pytest.raises(LimitError, match=r"Limit\.parse_all\(key, text\) reads text"):
        done(limiter.limit("100/minute", "ada"))  # type: ignore[arg-type]


def test_no_limits_are_not_unlimited(limiter: AnyLimiter) -> None:
    calls: list[Any] = [
        lambda: limiter.limit([], "ada"),
        lambda: limiter.peek((), "ada", now=NOW),
        lambda: limiter.limit(lambda _: [], "ada"),
        lambda: limiter.limit_all([]),
        lambda: limiter.acquire([], "ada", max_wait=0),
        lambda: limiter.explain([], "ada"),
    ]
    for call in calls:
        with pytest.raises(LimitError, match="limits must not be empty"):
            done(call())


def test_a_number_is_read_to_its_last_digit(limiter: AnyLimiter) -> None:
    literal = {"key": "score", "type": "decay", "max": 5, "decayFactor": 1.1040895136738123, "resolution": 1000}
    for written in (Limits.from_text(json.dumps({"score": literal}), "json"), Limits.from_dict({"score": literal})):
        assert written["score"] == Limit.from_dict(literal)
        assert written["score"].to_dict() == {**literal, "countBlocked": False}
    done(limiter.charge(literal, "ada", 9, now=NOW))
    assert (
        done(limiter.limit(written["score"], "ada", now=NOW)).reset_ms
        == done(limiter.limit(Limit.from_dict(literal), "ada", now=NOW)).reset_ms
    )


def test_a_limit_is_the_same_after_json() -> None:
    random = Random(9)
    for _ in range(2000):
        size, period, real = random.randint(1, 10**4), random.uniform(1, 1e8), random.uniform(1.01, 40)
        limits = [
            Bucket("k", size=size, drip_rate=period, factor_scales="size-and-rate"),
            TokenBucket("k", count=random.randint(1, 100), period=random.randint(1, 10**8)),
            FixedWindow("k", max=size, period=period, anchor="first-request"),
            SlidingWindow("k", max=size, period=period, resolution=period / real, count_blocked=True),
            SlidingLog("k", max=size, period=period, min_interval=period / real),
            Decay("k", max=min(size, 1000), decay_factor=real, resolution=period / 1000),
            Smooth("k", rate=real, warmup=period / 100, cold_factor=real),
            Legacy("k", max=size, duration=period, min_interval=real),
        ]
        for limit in limits:
            text = json.dumps({"k": limit.to_dict()})
            assert Limits.from_text(text, "json")["k"] == limit == Limits.from_dict(json.loads(text))["k"], text


def test_limits_from_a_dict() -> None:
    login = Bucket("auth", size=10)
    wire = {"type": "bucket", "size": 5}
    for named in (
        {"api": "100/minute", "login": login, "door": wire},
        {"$schema": "limits.json", "limits": {"api": "100/minute", "login": login, "door": wire}},
        MappingProxyType({"limits": MappingProxyType({"api": "100/minute", "login": login, "door": wire})}),
    ):
        limits = Limits.from_dict(named)
        assert dict(limits) == {"api": Limit.parse("api", "100/minute"), "login": login, "door": Bucket("door", size=5)}
    assert dict(Limits.from_dict({})) == dict(Limits.from_text("", "yaml")) == {}
    assert Limits.from_dict({"open": Legacy("open")})["open"] == Legacy("open"), "in code it is said on purpose"
    endless: dict[str, object] = {}
    endless["a"] = endless
    faults: dict[str, object] = {
        "login": {},
        "a": endless,
        "b": "10/fortnight",
        "c": [],
        "d": None,
        "e": {"type": "bucket", "size": timedelta(1)},
        "f": {"key": "api", "type": "bucket", "size": 1},
        "api": "1/s",
    }
    with pytest.raises(LimitsError) as caught:
        Limits.from_dict(faults)
    assert [fault.path for fault in caught.value.errors] == ["login", "a.a", "b", "c", "d", "e.size", "api"]
    assert caught.value.errors[-1].message == 'has the same key as f, "api"'
    with pytest.raises(LimitsError, match="must be a table of named limits, got 5"):
        Limits.from_dict(5)  # type: ignore[arg-type]
    with pytest.raises(LimitError, match="must have strings as names"):
        Limits.from_dict({5: "1/s"})  # type: ignore[dict-item]


def test_any_text_is_a_key(limiter: AnyLimiter) -> None:
    for key in ("/files/naïve plan.txt", "a\r\nSet-Cookie: b", "🔑", "%", "k" * 65_536):
        bucket = Bucket(key, size=2)
        assert done(limiter.limit(bucket, "ada", now=NOW)).remaining == 1
        info = done(limiter.limit(bucket, "ada", now=NOW))
        assert (info.remaining, info.key) == (0, key)
        for value in info.headers("both").values():
            assert value.isascii()
            assert value.isprintable()
            assert len(value) < 200
    assert Limiter().limit(Bucket("ï\n", size=1), "ada").headers("ietf")["RateLimit"].startswith('"%C3%AF%0A";')
    assert Bucket("/\ufffd", size=1).key == "/\ufffd"
    odd = "/\udc80\ud800"
    refuse: list[Callable[[], Any]] = [
        lambda: Bucket(odd, size=1),
        lambda: Limit.parse(odd, "1/s"),
        lambda: Limit.parse_all(odd, "1/s; 2/m"),
        lambda: Limit.from_dict({"key": odd, "type": "bucket", "size": 1}),
        lambda: done(limiter.limit({"key": odd, "type": "bucket", "size": 1}, "ada")),
        lambda: done(limiter.limit([Bucket("k", size=1), {"key": odd, "type": "bucket", "size": 1}], "ada")),
    ]
    for refused in refuse:
        with pytest.raises(LimitError, match=r"^key must be well-formed, without lone surrogates, got a string"):
            refused()
    with pytest.raises(LimitError, match="limits must have well-formed names"):
        Limits.from_dict({odd: "1/s"})
    with pytest.raises(LimitsError, match="must be well-formed"):
        Limits.from_dict({"login": odd})
    with pytest.raises(LimitError, match="namespace must be well-formed"):
        Limiter("redis://127.0.0.1:1", namespace=odd)
    for key in ("", "k" * 65_537):
        with pytest.raises(LimitError, match="key must") as caught:
            Bucket(key, size=2)
        assert len(str(caught.value)) < 300


def test_text_is_a_token_bucket() -> None:
    assert Limit.parse("api", "100/minute") == TokenBucket("api", count=100, period=60_000)
    assert Bucket.parse("api", "5/15m burst 20") == TokenBucket("api", count=5, period=900_000, burst=20)


@pytest.mark.parametrize(
    ("key", "text", "field"),
    [
        ("api", "10/fortnight", "definition"),
        ("api", "0/s", "definition"),
        ("api", "\ud800", "definition"),
        ("api", 5, "definition"),
        ("", "10/s", "key"),
        (None, "10/s", "key"),
    ],
)
def test_text_that_is_not_a_rate(key: Any, text: Any, field: str) -> None:
    with pytest.raises(LimitError) as caught:
        Limit.parse(key, text)
    assert caught.value.field == field


@pytest.mark.parametrize("path_type", [str, Path])
def test_a_file_is_a_mapping_in_its_order(tmp_path: Path, path_type: Any, limiter: AnyLimiter) -> None:
    path = tmp_path / "limits.yml"
    path.write_text(YAML)
    limits = Limits.load(path_type(path))
    assert list(limits) == list(limits.keys()) == ["api", "login"]
    assert (len(limits), "login" in limits, "other" in limits, limits.get("other")) == (2, True, False, None)
    assert dict(limits) == {"api": Limit.parse("api", "100/minute burst 20"), "login": Bucket("login", size=10)}
    assert done(limiter.limit(limits["login"], "ada")).remaining == 9
    assert pickle.loads(pickle.dumps(limits)) == limits == Limits.from_text(YAML, "yaml")
    with pytest.raises(KeyError, match="other"):
        limits["other"]
    with pytest.raises(TypeError):
        limits["other"] = limits["api"]  # type: ignore[index]
    with pytest.raises(TypeError, match=r"Limits\.load"):
        Limits()


def test_a_check_names_what_is_no_text() -> None:
    limits = Limits.from_dict({"api": "9/s"})
    with pytest.raises(LimitError, match=r'^limit "api": actor must be a string: use str\(\), got 5$'):
        limits.check("api", cast(Any, 5))
    with pytest.raises(LimitError, match=r"^name must be a string, got 5$"):
        limits.check(cast(Any, 5), "ada")


def test_a_path_is_shown_in_a_line() -> None:
    with pytest.raises(LimitsError) as caught:
        Limits.load("\r\n" + "x" * 1_000_000)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_every_fault_is_told() -> None:
    with pytest.raises(LimitsError) as caught:
        Limits.from_text('{"login": {"type": "bucket", "size": 0, "color": 1}, "api": 5}', "json")
    error = caught.value
    assert [fault.path for fault in error.errors] == ["login.color", "login.size", "api"]
    for fault in error.errors:
        assert fault.message in str(error)
        assert (fault.line, fault.column) == (None, None)
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.errors) == (str(error), error.errors)


@pytest.mark.parametrize(("format", "text"), [("json", '{\n"a": }'), ("toml", "a = 1\nb ="), ("yaml", "a: 1\nb: [")])
def test_syntax_errors_have_a_place(format: Any, text: str) -> None:
    with pytest.raises(LimitsError) as caught:
        Limits.from_text(text, format)
    (fault,) = caught.value.errors
    assert fault.line is not None
    assert fault.column is not None
    assert f"line {fault.line}, column {fault.column}" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for name in ("none.json", "limits.ini", "nul\0.json"):
        with pytest.raises(LimitsError) as caught:
            Limits.load(tmp_path / name)
        assert len(caught.value.errors) == 1
    for path in (None, 5, object()):
        with pytest.raises(TypeError):
            Limits.load(path)  # type: ignore[arg-type]


def test_unknown_formats_and_text_that_is_none() -> None:
    with pytest.raises(ValueError, match="format must be"):
        Limits.from_text("", "ini")  # type: ignore[arg-type]
    with pytest.raises(LimitError, match="format must be a string"):
        Limits.from_text("", None)  # type: ignore[arg-type]
    with pytest.raises(LimitError, match="text must be a string"):
        Limits.from_text(b"{}", "json")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="lone surrogate"):
        Limits.from_text("\ud800", "json")


def test_a_definition_explains_itself() -> None:
    explanation = Bucket("login", size=10).explain()
    assert str(explanation).startswith('"login" (bucket) admits 10 at once')
    figures = explanation.to_dict()
    assert (figures["key"], figures["type"], figures["factor"]) == ("login", "bucket", 1.0)
    assert Bucket("login", size=10).explain(factor=0.5).to_dict()["allowances"][0]["burst"] == 20
    assert "+42.9 %" in str(Legacy("notes", max=700, duration=1000).explain())
    for factor in (-1, float("nan"), "1", None):
        with pytest.raises(LimitError, match="factor"):
            Bucket("login", size=10).explain(factor)  # type: ignore[arg-type]


def test_a_limiter_explains_how_things_stand(limiter: AnyLimiter) -> None:
    login = Bucket("login", size=3)
    done(limiter.charge(login, "ada", 3, now=NOW))
    explanation = done(limiter.explain(login, "ada", now=NOW))
    assert explanation.info == done(limiter.peek(login, "ada", now=NOW))
    assert str(explanation) == '"login" would refuse this call: 0 of 3 units are free. Retry in 1 s; empty in 3 s.'
    both = done(limiter.explain([login, TokenBucket("api", count=5, period=1000)], "ada", 1, 0.5, NOW))
    assert [check.quota for check in both.info.checks] == [6, 10]
    assert "decides" in str(both)


def test_the_schema_is_json() -> None:
    schema = json.loads(json_schema())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"bucket", "legacy", "limits"} <= set(schema["$defs"])
