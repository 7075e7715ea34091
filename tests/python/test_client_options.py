"""The options of HTTP clients: those that are refused, and the forms that they may have."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import tidegate.aiohttp
import tidegate.httpx
import tidegate.requests
from tidegate import LimitError
from tidegate._client.settings import Settings


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"retries": -1}, "retries must be a whole number from 0 to 100, got -1"),
        ({"retries": 1.5}, "retries must be a whole number from 0 to 100, got 1.5"),
        ({"retries": "2"}, 'retries must be a number, got "2"'),
        ({"retry_methods": [""]}, 'retry_methods must hold methods, got ""'),
        ({"retry_methods": ["a\0"]}, "retry_methods must hold methods"),
        ({"retry_methods": 5}, "retry_methods must be a list of methods, got 5"),
        ({"name": ""}, "name must be text that is not empty, got ''"),
        ({"name": 1}, "name must be text that is not empty, got 1"),
        ({"backoff": float("nan")}, "backoff must be at least 0 seconds, and at most 100 years, got nan"),
        ({"max_wait": float("inf")}, "max_wait must be at least 0 seconds, and at most 100 years, got inf"),
        ({"max_wait": timedelta(seconds=-1)}, "max_wait must be at least 0 seconds, and at most 100 years, got -1"),
        ({"max_wait": "soon"}, 'max_wait must be a number, got "soon"'),
        ({"key": "host"}, "key must be a function of a request, got 'host'"),
        ({"key": "x" * 100_000}, f"key must be a function of a request, got '{'x' * 79}…"),
        ({"limiter": None}, "limiter must be"),
    ],
)
def test_options_that_are_refused(options: Any, problem: str) -> None:
    with pytest.raises(LimitError) as error:
        tidegate.httpx.RateLimitTransport("5/second", **options)
    assert problem in str(error.value)
    assert len(str(error.value)) < 300


def test_one_method_may_be_given_as_text() -> None:
    def waits(method: str) -> bool:
        settings = Settings.of("test", "5/second", {"retries": 1, "retry_methods": "POST"})
        return settings.engine.judge(503, [], method, 0, True, [], 0.0, 0)[2] is not None

    assert [waits("POST"), waits("GET")] == [True, False]


def test_an_option_that_does_not_exist() -> None:
    for make in (tidegate.httpx.RateLimitTransport, tidegate.requests.RateLimitAdapter, tidegate.aiohttp.rate_limit):
        with pytest.raises(TypeError, match=rf"^{make.__name__}\(\) got an unexpected keyword argument 'retrys'$"):
            make("5/second", retrys=2)  # type: ignore[call-arg]
