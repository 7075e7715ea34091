"""The golden answers that all languages share, through the public API."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from calls import AnyLimiter, done
from server import RedisServer
from tidegate import LimitInfo


def read(name: str) -> dict[str, Any]:
    vectors: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / f"{name}.json").read_text())
    return vectors


VECTORS = read("decisions")
BEYOND = read("beyond")
for name in ("one", "together", "changing"):
    VECTORS[name] += BEYOND[name]
LEGACY = read("legacy")["one"]
HEADERS = read("headers")["cases"]

LEVELS = {"bucket", "token-bucket", "fixed-window"}
KNOWN = {
    *LEVELS,
    "sliding-window",
    "sliding-counter",
    "sliding-log",
    "decay",
    "smooth",
    "calendar-window",
    "concurrency",
    None,
}


def fields(info: LimitInfo) -> dict[str, Any]:
    return {
        "blocked": info.blocked,
        "remaining": info.remaining,
        "resetMs": info.reset_ms,
        "resetSec": info.reset_sec,
        "fullResetMs": info.full_reset_ms,
        "fullResetSec": info.full_reset_sec,
        "waitMs": info.wait_ms,
    }


def merged(info: LimitInfo) -> dict[str, Any]:
    return {**fields(info), "binding": info.binding}


def test_there_are_vectors() -> None:
    assert len(VECTORS["one"]) > 10
    assert {sequence["limit"].get("type") for sequence in VECTORS["one"]} == KNOWN
    assert VECTORS["together"]
    assert VECTORS["changing"]
    assert sum(len(sequence["steps"]) for sequence in LEGACY) > 500
    assert len(HEADERS) > 10


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest, limiter: AnyLimiter) -> AnyLimiter:
    """The limiter of each kind, in memory and over Redis, with entries of its own."""
    if request.param == "memory":
        return limiter
    fleet: RedisServer = request.getfixturevalue("fleet")
    return type(limiter)(fleet.url, namespace=request.node.name, timeout=10, on_error="raise")


def play(limiter: AnyLimiter, limit: dict[str, Any], factor: float, step: dict[str, Any]) -> None:
    if step["call"] == "reset":
        assert done(limiter.reset(limit, "actor")) is None
        return
    if step["call"] == "observe":
        said = {"remaining": step.get("remaining")}
        if "retryAfterMs" in step:
            said["retry_after"] = timedelta(milliseconds=step["retryAfterMs"])
        info = done(limiter.observe(limit, "actor", factor, step["now"], **said))
    elif step["call"] == "block":
        info = done(limiter.block(limit, "actor", timedelta(milliseconds=step["forMs"]), factor, step["now"]))
    else:
        extra = {"max_wait": step["maxWaitMs"] / 1000} if step["call"] == "acquire" else {}
        call = getattr(limiter, step["call"])
        info = done(call(limit, "actor", step["cost"], factor, step["now"], **extra))
    assert fields(info) == step["want"], step


@pytest.mark.parametrize("sequence", VECTORS["one"], ids=lambda sequence: sequence["limit"]["key"])
def test_one_limit_at_a_time(sequence: dict[str, Any], store: AnyLimiter) -> None:
    for step in sequence["steps"]:
        play(store, sequence["limit"], sequence["factor"], step)


def test_legacy_limits_in_both_translations(store: AnyLimiter) -> None:
    for number, sequence in enumerate(LEGACY):
        limit = {**sequence["limit"], "key": f"{sequence['limit']['key']} {number}"}
        for step in sequence["steps"]:
            play(store, limit, sequence["factor"], step)


@pytest.mark.parametrize("case", HEADERS, ids=lambda case: case["says"])
def test_headers_of_every_kind_and_draft(case: dict[str, Any], limiter: AnyLimiter) -> None:
    for step in case["steps"]:
        if len(case["limits"]) == 1:
            call = getattr(limiter, step["call"])
            info = done(call(case["limits"][0], "actor", step["costs"][0], now=step["now"]))
        else:
            checks = [(limit, "actor", cost) for limit, cost in zip(case["limits"], step["costs"])]
            info = done(getattr(limiter, f"{step['call']}_all")(checks, now=step["now"]))
    assert fields(info) == case["info"]
    assert info.headers("x") == case["headers"]["x"]
    for draft in (6, 7, 11):
        assert info.headers("ietf", draft=draft) == case["headers"][str(draft)], draft


@pytest.mark.parametrize("sequence", VECTORS["changing"], ids=lambda sequence: sequence["limits"][0]["key"])
def test_definitions_and_factors_that_change(sequence: dict[str, Any], store: AnyLimiter) -> None:
    for step in sequence["steps"]:
        play(store, sequence["limits"][step["limit"]], step["factor"], step)


@pytest.mark.parametrize("sequence", VECTORS["together"], ids=lambda sequence: sequence["limits"][0]["key"])
def test_several_limits_together(sequence: dict[str, Any], store: AnyLimiter) -> None:
    for step in sequence["steps"]:
        checks = [
            (limit, "actor", cost, factor)
            for limit, cost, factor in zip(sequence["limits"], step["costs"], sequence["factors"])
        ]
        call = store.limit_all if step["call"] == "limit" else store.peek_all
        info = done(call(checks, now=step["now"]))
        assert merged(info) == step["want"], step
        assert [fields(check) for check in info.checks] == step["each"], step


@pytest.mark.parametrize("sequence", BEYOND["held"], ids=lambda sequence: sequence["limits"][0]["key"])
def test_units_are_held_released_and_renewed(sequence: dict[str, Any], store: AnyLimiter) -> None:
    answers: list[LimitInfo] = []
    for step in sequence["steps"]:
        if "of" in step:
            info = done(getattr(store, step["call"])(answers[step["of"]], step["now"]))
            assert fields(info) == step["want"], step
        else:
            costs = zip(sequence["limits"], step["costs"])
            checks = [(limit, "actor", cost, sequence["factor"]) for limit, cost in costs]
            info = done(getattr(store, f"{step['call']}_all")(checks, step["now"]))
            assert merged(info) == step["want"], step
            assert [fields(check) for check in info.checks] == step["each"], step
        answers.append(info)


@pytest.mark.parametrize("sequence", BEYOND["upTo"], ids=lambda sequence: sequence["limits"][0]["key"])
def test_as_much_as_there_is_room_for(sequence: dict[str, Any], store: AnyLimiter) -> None:
    limits, factors = sequence["limits"], sequence["factors"]
    for step in sequence["steps"]:
        cost, at_least = step["cost"], step["atLeast"]
        checks = [(limit, "actor", cost, factor) for limit, factor in zip(limits, factors)]
        looked = done(store.peek_all(checks, step["now"], at_least=at_least))
        if len(limits) == 1:
            info = done(store.limit(limits[0], "actor", cost, factors[0], step["now"], at_least=at_least))
        else:
            info = done(store.limit_all(checks, step["now"], at_least=at_least))
        assert (looked.granted, info.granted) == (step["granted"], step["granted"]), step
        assert merged(info) == step["want"], step
        assert [fields(check) for check in info.checks] == step["each"], step
