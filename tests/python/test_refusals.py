"""The definitions that every language refuses, and as what."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calls import AnyLimiter, done
from tidegate import AsyncLimiter, Limit, Limiter, LimitError

FOLDER = Path(__file__).parents[1] / "vectors"
VECTORS = json.loads((FOLDER / "bad_input.json").read_text(encoding="utf-8"))
OPTIONS = json.loads((FOLDER / "options.json").read_text(encoding="utf-8"))
STORES = ["memory://", "redis://127.0.0.1:1"]


def listed(given: Any) -> list[Any]:
    """A list, or the name of one that several have in common."""
    return [unusual(value) for value in (VECTORS["lists"][given] if isinstance(given, str) else given)]


def unusual(value: Any) -> Any:
    """A value that JSON has no word for, or any other as it is."""
    if isinstance(value, dict) and "number" in value:
        return float(value["number"])
    if isinstance(value, dict) and "utf16" in value:
        return "".join(map(chr, value["utf16"]))
    return value


def each(group: str) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    """Every definition of a group with what is done to it."""
    for case in VECTORS[group]:
        for kind in listed(case["of"]):
            definition = VECTORS["definitions"][kind]
            for field in listed(case["fields"]):
                if field not in definition and not case.get("added"):
                    continue
                rest = {name: value for name, value in definition.items() if name != field}
                if "values" not in case:
                    yield case, field, rest
                for value in listed(case.get("values", [])):
                    yield case, field, {**rest, field: value}


@pytest.mark.parametrize("group", ["refused", "left out"])
def test_what_cannot_be_is_refused_by_name(group: str, limiter: AnyLimiter) -> None:
    for case, field, wire in each(group):
        for refuse in (Limit.from_dict, lambda wire: done(limiter.limit(wire, "ada"))):
            with pytest.raises(LimitError) as caught:
                refuse(wire)
            error = caught.value
            assert (error.key, error.field) == (case.get("key", "k"), field), wire
            assert str(error).endswith(f"got {error.value}")
            assert str(error).isprintable()
            assert len(str(error)) < 400
    assert limiter.entries == 0


def test_what_is_at_a_bound_is_taken() -> None:
    for _, field, wire in each("taken"):
        assert Limit.from_dict(wire).to_dict()[field] == wire[field]


def options(group: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every option of a group with each of its values, as Python spells them."""
    for case in OPTIONS[group]:
        for option in case["options"]:
            if "." in option:
                continue
            name = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", option)
            for value in listed(case["values"]):
                is_time = option in OPTIONS["times"] and type(value) in (int, float)
                yield name, {name: value / 1000 if is_time else value}


@pytest.mark.parametrize("url", STORES)
@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
def test_options_are_refused_by_name(kind: type[AnyLimiter], url: str) -> None:
    for name, given in options("refused"):
        with pytest.raises(LimitError) as caught:
            kind(url, **given)
        assert caught.value.field == name, given


@pytest.mark.parametrize("url", STORES)
def test_options_at_their_bounds_are_taken(url: str) -> None:
    taken = [given for _, given in options("taken")]
    assert len(taken) > 20
    for given in taken:
        Limiter(url, **given).close()
