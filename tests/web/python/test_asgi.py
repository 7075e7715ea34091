"""The ASGI middleware over real HTTP."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from litestar import Litestar, get
from litestar.middleware import DefineMiddleware
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from server import RedisServer
from serving import Served, ask, over_uvicorn, workers
from tidegate import parse_headers
from tidegate._http import forget_mistakes
from tidegate.asgi import RateLimitMiddleware

APPS = Path(__file__).parent / "apps"


@pytest.fixture(scope="module")
def app(store: str) -> Iterator[Served]:
    with Served.uvicorn("plain:app", APPS, STORE=store) as server:
        yield server


@pytest.fixture
def key() -> str:
    """An actor of one test."""
    return uuid4().hex


def test_headers_and_refusals(app: Served, key: str) -> None:
    remaining = []
    for _ in range(3):
        answer = app.ask(x_api_key=key)
        assert answer.status == 200
        remaining.append(parse_headers(answer.headers).remaining)
        assert json.loads(answer.body)["remaining"] == remaining[-1]
    assert remaining == [2, 1, 0]
    denied = app.ask(x_api_key=key)
    read = parse_headers(denied.headers)
    assert (denied.status, read.remaining) == (429, 0)
    assert read.retry_after_ms is not None
    assert 86_000_000 < read.retry_after_ms <= 86_400_000
    assert denied.headers["cache-control"] == "no-store"
    assert denied.headers["content-type"] == "application/problem+json"
    assert denied.headers["content-length"] == str(len(denied.body))
    assert json.loads(denied.body)["violated-policies"] == ["api"]
    assert app.ask(x_api_key=key, accept="text/plain").headers["content-type"].startswith("text/plain")
    head = app.ask(method="HEAD", x_api_key=key)
    assert (head.status, head.body) == (429, b"")


@pytest.mark.parametrize("path", ["/stream", "/status/204", "/status/403", "/crash"])
def test_headers_are_on_every_response(app: Served, key: str, path: str) -> None:
    assert app.ask(path, x_api_key=key).headers["x-ratelimit-remaining"] == "2"
    assert app.ask(path, x_api_key=key).headers["x-ratelimit-remaining"] == "1"


def test_cost_and_settlement(app: Served, key: str) -> None:
    assert app.ask("/spend?cost=60&used=10", x_api_key=key).headers["x-ratelimit-remaining"] == "40"
    # Settled before the last byte: whoever has read the response finds 90 left.
    assert app.ask("/spend?cost=60&used=80", x_api_key=key).headers["x-ratelimit-remaining"] == "30"
    assert app.ask("/spend?cost=11&used=1", x_api_key=key).status == 429
    assert app.ask("/spend?cost=10&used=10", x_api_key=key).headers["x-ratelimit-remaining"] == "0"


def test_a_response_of_its_own(app: Served, key: str) -> None:
    answers = [app.ask("/own", x_api_key=key) for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 420]
    assert answers[-1].body == b"slow down"
    assert "retry-after" in answers[-1].headers


def test_totals_are_exact(app: Served, key: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        statuses = Counter(pool.map(lambda _: app.ask(x_api_key=key).status, range(40)))
    assert statuses == {200: 3, 429: 37}


def test_totals_are_exact_over_workers(redis: RedisServer, key: str) -> None:
    with Served.uvicorn("plain:app", APPS, "--workers", "2", STORE=redis.url) as server:
        workers(server, "/free", 2)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: server.ask("/several", x_api_key=key), range(40)))
        assert Counter(answer.status for answer in answers) == {200: 2, 429: 38}


def test_websockets(app: Served, key: str) -> None:
    headers = {"X-Api-Key": key}
    with connect(f"ws://127.0.0.1:{app.port}/talk", additional_headers=headers) as socket:
        answers = []
        for _ in range(4):
            socket.send("hello")
            answers.append(socket.recv(5))
    assert answers == ["yes", "yes", "no", "no"]
    for _ in range(2):
        app.ask(x_api_key=key)
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{app.port}/talk", additional_headers=headers)
    response = refused.value.response
    assert response.status_code == 429
    assert "retry-after" in response.headers


def test_all_routes_of_litestar_share_the_limits_of_its_application(told: Callable[[], list[str]]) -> None:
    """It makes an instance of the middleware for each of them."""
    forget_mistakes()

    def app(*limits: str) -> Litestar:
        async def hello() -> str:
            return "hello"

        routes = [get(path)(hello) for path in ("/one", "/two")]
        # Litestar's type of an application is narrower than that of ASGI.
        middleware: Any = RateLimitMiddleware
        limited = [DefineMiddleware(middleware, limits=each, name=each) for each in limits]
        return Litestar(routes, middleware=limited, openapi_config=None, logging_config=None)

    def left(port: int, path: str) -> str:
        return ask(port, path).headers["x-ratelimit-remaining"]

    with over_uvicorn(app("3/hour")) as port, over_uvicorn(app("3/hour", "2/day")) as other:
        assert [left(port, path) for path in ("/one", "/two", "/one")] == ["2", "1", "0"]
        assert ask(port, "/two").status == 429
        assert [left(other, path) for path in ("/one", "/two")] == ["1", "0"]
    assert told() == []
