"""Options of the modules are checked when they are given, so that no request fails by them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from flask import Flask

from harness import hello
from tidegate import Bucket, LimitError
from tidegate.asgi import MessageLimit, RateLimitMiddleware
from tidegate.fastapi import RateLimit as Dependency
from tidegate.flask import RateLimit as Extension

if not settings.configured:
    settings.configure()

from tidegate.django import rate_limit

PLACES: dict[str, Callable[..., object]] = {
    "middleware": lambda limits, **options: RateLimitMiddleware(hello, limits=limits, **options),
    "dependency": lambda limits, **options: Dependency(limits, **options),
    "messages": lambda limits, **options: MessageLimit(limits, **options),
    "flask": lambda limits, **options: Extension(Flask(__name__), default=limits, **options),
    "view of flask": lambda limits, **options: Extension(Flask(__name__)).limit(limits, **options),
    "view of django": lambda limits, **options: rate_limit(limits, **options),
}
DOOR = Bucket("door", size=5)


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Any:
    return PLACES[request.param]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("cost", -1, "cost must be at least 0, got -1"),
        ("cost", True, "cost must be a whole number or a function, got True"),
        ("cost", 6, 'limit "door": cost must be at most 5, all that this limit ever admits at once, got 6'),
        ("cost", 2**60, 'limit "door": cost must be at most 9007199254740992, got 1'),
        ("factor", -1, "factor must be at least 0 and finite, got -1"),
        ("factor", True, "factor must be a number or a function, got True"),
        ("factor", math.nan, "factor must be at least 0 and finite, got nan"),
        ("factor", math.inf, "factor must be at least 0 and finite, got inf"),
        ("factor", 10**-13, 'limit "door": factor must leave size at most 1000000000000'),
        ("key", "nobody", "key must be a function of the request or one of ip, header:NAME"),
        ("key", "header:", "key must name a header behind header:, got 'header:'"),
        ("key", "header:X Y", "key must name a header behind header:, got 'header:X Y'"),
        ("name", 5, "name must be text, got 5"),
        ("charge_on", {True}, "charge_on must be a function of the response or the statuses that are charged"),
        ("charge_on", {99}, "charge_on must be a function of the response or the statuses that are charged"),
        ("override", "yes", "override must be True or False, got 'yes'"),
    ],
)
def test_options_are_checked_at_once(place: Any, option: str, value: object, said: str) -> None:
    limits: Any = "5/minute" if option == "name" else DOOR
    with pytest.raises(LimitError) as caught:
        place(limits, **{option: value})
    assert str(caught.value).startswith(said)
    assert caught.value.field == option


def test_a_predicate_is_never_awaited(place: Any) -> None:
    async def charges(_response: Any) -> bool:
        return True

    with pytest.raises(LimitError, match=r"charge_on must be a function of .*, got a coroutine function"):
        place(DOOR, charge_on=charges)


@pytest.mark.parametrize("option", ["key", "cost", "factor", "skip", "on_blocked"])
def test_a_coroutine_function_needs_a_place_that_awaits_it(option: str) -> None:
    async def later(*_given: Any) -> Any: ...

    for name in ("middleware", "dependency", "messages"):
        assert PLACES[name](DOOR, **{option: later}) is not None
    for name in ("flask", "view of flask"):
        with pytest.raises(LimitError, match="Flask asks for limits in a thread, got a coroutine function"):
            PLACES[name](DOOR, **{option: later})
    decorate: Any = PLACES["view of django"](DOOR, **{option: later})
    assert decorate(later) is not None
    with pytest.raises(LimitError, match="a coroutine function needs an async view"):
        decorate(lambda _request: None)


def test_an_option_that_there_is_not(place: Any) -> None:
    with pytest.raises(LimitError, match=r"^chargeon is not an option, which are: .*charge_on, .*shadow") as caught:
        place(DOOR, chargeon=401)
    assert caught.value.field == "chargeon"


def test_a_cost_that_only_one_of_the_limits_admits(place: Any) -> None:
    with pytest.raises(LimitError, match='limit "app@1m": cost must be at most 5'):
        place(["100/hour", "5/minute"], cost=6)
    with pytest.raises(LimitError, match='limit "3/minute candidate": cost must be at most 3'):
        place("5/minute", cost=4, candidate="3/minute", name="3/minute")


def test_a_function_may_make_it_fit(place: Any) -> None:
    assert place(DOOR, cost=6, factor=0.5) is not None
    assert place(DOOR, cost=6, factor=lambda _request: 0.5) is not None
    assert place(lambda _request: DOOR, cost=6) is not None
    assert place(DOOR, cost=lambda _request: 6, factor=0) is not None
    assert place(DOOR, cost=0, charge_on=range(400, 500)) is not None


@pytest.mark.parametrize("limits", ["", "5/minute;", b"5/minute"])
def test_limits_that_are_no_text(place: Any, limits: Any) -> None:
    with pytest.raises(LimitError) as caught:
        place(limits)
    assert 'limit "app": definition must have a count' in str(caught.value) or "limits must be a limit" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("limits", "at"), [("5/minute;3/ü", 12), (" 5/minute ; 3/ü", 15), (["5/minute", "9/hour;  3/ü"], 12)]
)
def test_limits_as_text_say_where_they_are_wrong(place: Any, limits: Any, at: int) -> None:
    with pytest.raises(LimitError, match=f'limit "app": definition must have a unit .* at character {at}, got "ü"'):
        place(limits)
    with pytest.raises(LimitError, match=f'limit "api": definition must have a unit .* at character {at}, got "ü"'):
        place(limits, name="api")
