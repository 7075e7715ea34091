"""Definitions as text and in files, and what is said of them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from calls import AnyLimiter, done
from tidegate import Bucket, Legacy, Limit, LimitError, Limits, LimitsError, TokenBucket, json_schema

NOW = 1_700_000_000_000
YAML = "limits:\n  api: 100/minute burst 20\n  login: {type: bucket, size: 10}\n"


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
    standing = done(limiter.explain(login, "ada", now=NOW))
    assert standing.info == done(limiter.peek(login, "ada", now=NOW))
    assert (
        str(standing)
        == '"login" would refuse this call: 0 of 3 units are free. It will admit it in 1 s, and be as new in 3 s.'
    )
    both = done(limiter.explain([login, TokenBucket("api", count=5, period=1000)], "ada", 1, 0.5, NOW))
    assert [check.quota for check in both.info.checks] == [6, 10]
    assert "decides" in str(both)
    assert done(limiter.explain([], "ada")).info.key == ""


def test_the_schema_is_json() -> None:
    schema = json.loads(json_schema())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"bucket", "legacy", "limits"} <= set(schema["$defs"])
