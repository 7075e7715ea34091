"""The golden answers that all languages share, through the public API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calls import AnyLimiter, done
from tidegate import LimitInfo

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "decisions.json").read_text())

# The types that exist; a legacy definition has none.
CELLS = {"bucket", "token-bucket", "fixed-window"}
KNOWN = {*CELLS, "sliding-window", "sliding-counter", "sliding-log", "decay", "smooth", None}

ONE = [sequence for sequence in VECTORS["one"] if sequence["limit"].get("type") in KNOWN]
TOGETHER = [
    sequence for sequence in VECTORS["together"] if all(limit.get("type") in KNOWN for limit in sequence["limits"])
]


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


def name(sequence: dict[str, Any]) -> str:
    first: dict[str, str] = sequence["limits"][0] if "limits" in sequence else sequence["limit"]
    return first["key"]


def test_there_are_vectors() -> None:
    assert len(ONE) > 10
    assert {sequence["limit"].get("type") for sequence in ONE} == KNOWN
    assert TOGETHER


def play_one(limiter: AnyLimiter, sequence: dict[str, Any]) -> None:
    """One limit at a time, which may change from step to step."""
    for step in sequence["steps"]:
        limit = sequence["limits"][step["limit"]] if "limits" in sequence else sequence["limit"]
        factor = step.get("factor", sequence.get("factor", 1))
        if step["call"] == "reset":
            assert done(limiter.reset(limit, "actor")) is None
            continue
        extra = {"max_wait": step["maxWaitMs"] / 1000} if step["call"] == "acquire" else {}
        call = getattr(limiter, step["call"])
        info = done(call(limit, "actor", step["cost"], factor, step["now"], **extra))
        assert (fields(info), info.degraded) == (step["want"], False), step


def play_together(limiter: AnyLimiter, sequence: dict[str, Any]) -> None:
    """Several limits in one decision."""
    for step in sequence["steps"]:
        each = zip(sequence["limits"], step["costs"], sequence["factors"])
        checks = [(limit, "actor", cost, factor) for limit, cost, factor in each]
        call = limiter.limit_all if step["call"] == "limit" else limiter.peek_all
        info = done(call(checks, now=step["now"]))
        assert {**fields(info), "binding": info.binding} == step["want"], step
        assert [fields(check) for check in info.checks] == step["each"], step


@pytest.mark.parametrize("sequence", [*ONE, *VECTORS["changing"]], ids=name)
def test_one_limit_at_a_time(sequence: dict[str, Any], limiter: AnyLimiter) -> None:
    play_one(limiter, sequence)


@pytest.mark.parametrize("sequence", TOGETHER, ids=name)
def test_several_limits_together(sequence: dict[str, Any], limiter: AnyLimiter) -> None:
    play_together(limiter, sequence)
