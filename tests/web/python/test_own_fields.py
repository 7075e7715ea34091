"""Responses with fields of their own that limits have too: a client finds one of each."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory, override_settings
from fastapi import Depends, FastAPI
from fastapi.responses import PlainTextResponse
from fastapi.testclient import TestClient
from flask import Flask, Response

from tidegate import Bucket
from tidegate.asgi import RateLimitMiddleware
from tidegate.fastapi import RateLimit as Dependency
from tidegate.fastapi import RateLimited
from tidegate.flask import RateLimit as Extension

if not settings.configured:
    settings.configure()

from tidegate.django import rate_limit

OWN = {"X-RateLimit-Remaining": "99", "RateLimit": '"upstream";r=99;t=1', "X-Own": "kept"}
WANTED = {"x-ratelimit-remaining": ["2"], "ratelimit": ['"door";r=2;t=1'], "x-own": ["kept"]}


@pytest.fixture
def door() -> Bucket:
    return Bucket("door", size=3)


@pytest.fixture
def actor() -> str:
    return uuid4().hex


def fields(items: Any) -> dict[str, list[str]]:
    """The fields of a response with those names, all lines of each."""
    read: dict[str, list[str]] = {}
    for name, value in items:
        if name.lower() in WANTED:
            read.setdefault(name.lower(), []).append(value)
    return read


@pytest.mark.parametrize("several", [False, True], ids=["one decision", "two decisions"])
def test_asgi(store: str, door: Bucket, actor: str, several: bool) -> None:
    app = FastAPI()
    app.add_middleware(
        RateLimitMiddleware,
        limiter=store,
        limits=Bucket("around", size=100) if several else door,
        key=lambda _request: actor,
        headers="both",
    )
    inside = [Depends(Dependency(door, key=lambda _request: actor))] if several else []

    @app.get("/", dependencies=inside)
    async def root() -> PlainTextResponse:
        return PlainTextResponse("hello", headers=OWN)

    read = fields(TestClient(app).get("/").headers.multi_items())
    if several:
        read["ratelimit"] = [line.removeprefix('"around";r=99;t=1, ') for line in read["ratelimit"]]
    assert read == WANTED


def test_flask(store: str, door: Bucket, actor: str) -> None:
    app = Flask(__name__)
    Extension(app, store, default=door, key=lambda _request: actor, headers="both")
    app.add_url_rule("/", view_func=lambda: Response("hello", headers=OWN))
    assert fields(app.test_client().get("/").headers.items()) == WANTED


def test_django(door: Bucket, actor: str) -> None:
    @rate_limit(door, key=lambda _request: actor)
    def view(_request: Any) -> HttpResponse:
        return HttpResponse("hello", headers=OWN)

    with override_settings(TIDEGATE={"HEADERS": "both"}):
        response = view(RequestFactory().get("/"))
    assert fields(response.items()) == WANTED


# Statuses whose responses a cache may keep unless it is told otherwise, and one that a client follows.
OWN_STATUSES = [404, 503, 302]


def own_response_of_asgi(status: int, own: dict[str, str]) -> Any:
    app = FastAPI()
    app.add_middleware(
        RateLimitMiddleware,
        limits="1/day",
        headers="none",
        on_blocked=lambda _request, _info: PlainTextResponse("own", status, own),
    )
    app.get("/")(lambda: "hello")
    return TestClient(app)


def own_response_of_fastapi(status: int, own: dict[str, str], style: str | None = "none") -> Any:
    def on_blocked(_request: Any, _info: Any) -> PlainTextResponse:
        return PlainTextResponse("own", status, own)

    app = FastAPI()
    if style is not None:
        app.add_middleware(RateLimitMiddleware, headers="none")
    app.get("/", dependencies=[Depends(Dependency("1/day", on_blocked=on_blocked))])(lambda: "hello")
    return TestClient(app)


def handler_of_fastapi(status: int, own: dict[str, str]) -> Any:
    app = FastAPI()
    app.add_middleware(RateLimitMiddleware, headers="none")
    app.get("/", dependencies=[Depends(Dependency("1/day"))])(lambda: "hello")
    app.add_exception_handler(RateLimited, lambda _request, _error: PlainTextResponse("own", status, own))
    return TestClient(app)


def own_response_of_flask(status: int, own: dict[str, str]) -> Any:
    app = Flask(__name__)
    Extension(app, default="1/day", headers="none", on_blocked=lambda _request, _info: Response("own", status, own))
    app.add_url_rule("/", view_func=lambda: "hello")
    return app.test_client()


def handler_of_flask(status: int, own: dict[str, str]) -> Any:
    app = Flask(__name__)
    Extension(app, default="1/day", headers="none")
    app.add_url_rule("/", view_func=lambda: "hello")
    app.register_error_handler(429, lambda _error: Response("own", status, own))
    return app.test_client()


class OfDjango:
    def __init__(self, status: int, own: dict[str, str]) -> None:
        def on_blocked(_request: Any, _info: Any) -> HttpResponse:
            return HttpResponse("own", status=status, headers=own)

        view = rate_limit("1/day", on_blocked=on_blocked, name=uuid4().hex)
        self.view: Any = view(lambda _request: HttpResponse("hello"))

    def get(self, where: str, **_options: Any) -> Any:
        with override_settings(TIDEGATE={"HEADERS": "none"}):
            self.view(RequestFactory().get(where))
            return self.view(RequestFactory().get(where))


DENYING = [
    own_response_of_asgi,
    own_response_of_fastapi,
    lambda status, own: own_response_of_fastapi(status, own, None),
    handler_of_fastapi,
    own_response_of_flask,
    handler_of_flask,
    OfDjango,
]


@pytest.mark.parametrize("status", OWN_STATUSES)
@pytest.mark.parametrize("made", DENYING)
def test_own_responses_to_denied_requests(made: Any, status: int) -> None:
    def answer(own: dict[str, str]) -> Any:
        client = made(status, own)
        client.get("/")
        found = client.get("/", follow_redirects=False)
        assert found.status_code == status
        return tuple(found.headers.get(name) for name in ("Cache-Control", "Retry-After", "Content-Type"))

    cached, wait, kind = answer({})
    assert kind.startswith("text/")
    assert (cached, wait) == ((None, None) if status == 302 else ("no-store", "86400"))
    cached, wait, _ = answer({"Cache-Control": "private", "Retry-After": "7"})
    assert (cached, wait) == ("private", "7")
