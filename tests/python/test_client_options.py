"""The options of HTTP clients: those that are refused, and the forms that they may have."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

import tidegate.aiohttp
import tidegate.httpx
import tidegate.requests
from tidegate import Concurrency, Limiter, LimitError, Limits
from tidegate._client.settings import Settings
from tidegate.llm import limit_tool
from tidegate.testing import limits_off

PARALLEL = Concurrency("parallel", max=1, lease=60_000)
DOCUMENT = Limits.from_dict({"api": "5/second"})


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"retries": -1}, "retries must be a whole number from 0 to 100, got -1"),
        ({"retries": 1.5}, "retries must be a whole number from 0 to 100, got 1.5"),
        ({"retries": "2"}, 'retries must be a number, got "2"'),
        ({"retry_methods": []}, "retry_methods must hold at least one method, got an empty list"),
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


@pytest.mark.parametrize("chosen", [DOCUMENT, [DOCUMENT], DOCUMENT.select("api")])
def test_a_document_is_refused(chosen: Any) -> None:
    with pytest.raises(LimitError, match="limits must be a limit, a text such as") as error:
        tidegate.httpx.RateLimitTransport(chosen)
    assert error.value.field == "limits"


def test_one_method_may_be_given_as_text() -> None:
    def waits(method: str) -> bool:
        settings = Settings.of("test", "5/second", {"retries": 1, "retry_methods": "POST"})
        return settings.engine.judge(503, [], method, 0, True, [], 0.0, 0)[2] is not None

    assert [waits("POST"), waits("GET")] == [True, False]


def test_an_option_that_does_not_exist() -> None:
    for make in (tidegate.httpx.RateLimitTransport, tidegate.requests.RateLimitAdapter, tidegate.aiohttp.rate_limit):
        with pytest.raises(TypeError, match=rf"^{make.__name__}\(\) got an unexpected keyword argument 'retrys'$"):
            make("5/second", retrys=2)  # type: ignore[call-arg]


def replies() -> httpx.MockTransport:
    """A server that refuses each request once."""
    statuses = iter([429, 200] * 3)
    return httpx.MockTransport(lambda _: httpx.Response(next(statuses), headers={"Retry-After": "0"}))


def test_limits_that_are_off_keep_no_call_from_being_sent() -> None:
    options: Any = {"max_wait": 0, "retries": 1}
    transport = tidegate.httpx.RateLimitTransport(["1/day", PARALLEL], transport=replies(), **options)
    with httpx.Client(transport=transport) as client, limits_off():
        assert [client.get("http://127.0.0.1").status_code for _ in range(3)] == [200] * 3

    async def main() -> None:
        transport = tidegate.httpx.AsyncRateLimitTransport(["1/day", PARALLEL], transport=replies(), **options)
        async with httpx.AsyncClient(transport=transport) as client:
            with limits_off():
                assert [(await client.get("http://127.0.0.1")).status_code for _ in range(3)] == [200] * 3

    asyncio.run(main())


def test_limits_that_are_off_keep_no_tool_from_running() -> None:
    limited = limit_tool(Limiter(), lambda: [(PARALLEL, "ada"), ({"key": "once", "type": "bucket", "size": 1}, "ada")])

    @limited
    def tool() -> int:
        return 1

    @limited
    async def tool_async() -> int:
        return 1

    with limits_off():
        assert [tool() for _ in range(3)] == [1] * 3
        assert [asyncio.run(tool_async()) for _ in range(3)] == [1] * 3
