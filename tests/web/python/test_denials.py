"""Denials are told: in the log, as long as there are not too many, and to ``on_blocked``."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import Depends, FastAPI
from flask import Flask

from harness import Client
from tidegate import Bucket, LimitInfo
from tidegate.asgi import RateLimitMiddleware
from tidegate.fastapi import RateLimit
from tidegate.fastapi import RateLimitMiddleware as FromFastAPI
from tidegate.flask import RateLimit as FlaskRateLimit

sys.path.insert(0, str(Path(__file__).parent / "apps"))
importlib.import_module("site_of_django")

from django.http import HttpResponse  # noqa: E402
from django.test import AsyncClient, override_settings  # noqa: E402
from django.test import Client as DjangoClient  # noqa: E402
from django.urls import path  # noqa: E402

from tidegate.django import rate_limit  # noqa: E402

ONE = Bucket("one", size=1, drip_rate=86_400_000)


def asgi(limits: Any = ONE, **options: Any) -> tuple[Callable[[], int], str]:
    client = Client(RateLimitMiddleware, limits=limits, **options)
    return lambda: client.ask().status, "app"


def fastapi(limits: Any = ONE, **options: Any) -> tuple[Callable[[], int], str]:
    app = FastAPI()
    app.get("/a/{b}", dependencies=[Depends(RateLimit(limits, **options))])(lambda: "hello")
    app.add_middleware(FromFastAPI)
    client = Client(lambda app: app, app=app)
    return lambda: client.ask("/a/1").status, "GET /a/{b}"


def flask(limits: Any = ONE, **options: Any) -> tuple[Callable[[], int], str]:
    app = Flask("shop")
    limiter = FlaskRateLimit(app)

    @app.get("/a/<b>")
    @limiter.limit(limits, **options)
    def hello(b: str) -> str:
        return b

    return lambda: app.test_client().get("/a/1").status_code, "GET /a/{b}"


urlpatterns: list[Any] = []


def django(limits: Any = ONE, **options: Any) -> tuple[Callable[[], int], str]:
    @rate_limit(limits, **options)
    def hello(_request: Any, b: int) -> HttpResponse:
        return HttpResponse(str(b))

    urlpatterns[:] = [path("a/<int:b>/", hello)]
    return lambda: int(DjangoClient().get("/a/1/").status_code), "/a/{b}/"


PLACES: dict[str, Callable[..., tuple[Callable[[], int], str]]] = {
    "asgi": asgi,
    "fastapi": fastapi,
    "flask": flask,
    "django": django,
}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    with override_settings(ROOT_URLCONF=__name__, TIDEGATE={}):
        yield request.param, PLACES[request.param]


def test_a_denial_is_logged(place: Any, caplog: pytest.LogCaptureFixture) -> None:
    framework, made = place
    caplog.set_level(logging.INFO, "tidegate")
    ask, route = made()
    assert [ask() for _ in range(2)] == [200, 429]
    [record] = [record for record in caplog.records if getattr(record, "event", "") == "denied"]
    assert (record.levelname, record.limit, record.actor) == ("INFO", "one", "ip:127.0.0.1")  # type: ignore[attr-defined]
    assert (record.framework, record.route, record.untold) == (framework, route, 0)  # type: ignore[attr-defined]
    assert record.getMessage() == f"limit 'one' denied 'ip:127.0.0.1' at {route}"


def test_too_many_denials_are_counted(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> list[logging.LogRecord]:
        return [record for record in caplog.records if getattr(record, "event", "") == "denied"]

    caplog.set_level(logging.INFO, "tidegate")
    now = 1_000_000_000
    monkeypatch.setattr("time.monotonic_ns", lambda: now)
    ask, _ = asgi()
    for _ in range(101):
        ask()
    assert len(told()) == 10
    now += 1_000_000_000
    ask()
    assert told()[-1].getMessage().endswith("at app, and 90 more")


def test_denials_of_limits_in_shadow_mode(place: Any) -> None:
    _, made = place
    heard: list[LimitInfo] = []

    def on_blocked(_request: Any, info: LimitInfo) -> Any:
        heard.append(info)
        return "no response at all"

    ask, _ = made(shadow=True, on_blocked=on_blocked)
    assert ask() == 200
    assert heard == []
    assert [ask() for _ in range(2)] == [200, 200]
    assert [(info.key, info.actor, info.observed) for info in heard] == [("one", "ip:127.0.0.1", True)] * 2


@pytest.mark.parametrize("limits", [None, [], ()])
def test_a_function_that_returns_no_limits(place: Any, limits: Any) -> None:
    framework, _ = place
    asked: list[Any] = []

    def chosen(request: Any) -> Any:
        asked.append(request)
        return limits

    ask, _ = PLACES[framework](chosen)
    assert [ask() for _ in range(2)] == [200, 200]
    assert len(asked) == 2


@pytest.mark.parametrize("shadow", [True, False])
def test_on_blocked_knows_which_limit_it_is(shadow: bool) -> None:
    heard: list[bool] = []
    client = Client(
        RateLimitMiddleware,
        limits=ONE,
        shadow=True if shadow else None,
        on_blocked=lambda _request, info: heard.append(info.observed),
    )
    assert [client.ask().status for _ in range(2)] == [200, 200 if shadow else 429]
    assert heard == [shadow]


def test_an_async_view_of_django_tells_too() -> None:
    heard: list[str] = []

    async def on_blocked(_request: Any, info: LimitInfo) -> None:
        heard.append(info.key)

    @rate_limit(ONE, shadow=True, on_blocked=on_blocked)
    async def hello(_request: Any) -> HttpResponse:
        return HttpResponse("hello")

    async def ask() -> Any:
        return await AsyncClient().get("/")

    urlpatterns[:] = [path("", hello)]
    with override_settings(ROOT_URLCONF=__name__, TIDEGATE={}):
        answers = [asyncio.run(ask()).status_code for _ in range(2)]
    assert (answers, heard) == ([200, 200], ["one"])
