"""Mistakes in the configuration: each is told once, and can be silenced."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any
from wsgiref.simple_server import make_server

import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from fastapi.testclient import TestClient
from flask import Flask, g

from harness import Client, hello
from server import RedisServer, free_port
from serving import Served
from tidegate import AsyncLimiter, Bucket, ConfigurationError, Limiter, LimitError, LimitInfo
from tidegate._http import MISTAKES, forget_mistakes
from tidegate._web.guard import Guard
from tidegate.asgi import RateLimitMiddleware
from tidegate.asgi import Request as AsgiRequest
from tidegate.fastapi import RateLimit as Dependency
from tidegate.fastapi import RateLimitMiddleware as FromFastAPI
from tidegate.flask import RateLimit
from tidegate.testing import Clock

APPS = Path(__file__).parent / "apps"
API = Bucket("api", size=100)
FULL = Bucket("full", size=1)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    forget_mistakes()
    yield
    forget_mistakes()


def test_a_header_of_a_proxy_that_is_not_trusted(told: Any) -> None:
    client = Client(RateLimitMiddleware, limits=API)
    for _ in range(3):
        assert client.ask(x_forwarded_for="203.0.113.9").headers["x-ratelimit-remaining"]
    assert told() == ["forwarded-not-trusted"]


def test_a_proxy_outside_of_the_trusted_networks(told: Any) -> None:
    client = Client(RateLimitMiddleware, limits=API, trusted_proxies="10.0.0.0/8")
    for peer in ("172.18.0.2", "172.18.0.2", "10.0.0.2"):
        client.ask(peer=(peer, 1), x_forwarded_for="203.0.113.9")
    assert told() == ["peer-not-trusted"]


def test_a_server_that_has_read_the_header(told: Any) -> None:
    """As uvicorn does it for proxies on the same machine, or with ``--forwarded-allow-ips '*'`` for everybody."""
    Client(RateLimitMiddleware, limits=API).ask(peer=("203.0.113.9", 0), x_forwarded_for="203.0.113.9")
    assert told() == []
    client = Client(RateLimitMiddleware, limits=API, trusted_proxies="10.0.0.0/8")
    for _ in range(2):
        client.ask(peer=("198.51.100.1", 0), x_forwarded_for="198.51.100.1, 203.0.113.9")
    assert told() == ["forwarded-read-twice"]


def test_headers_that_wsgiref_joins(told: Any) -> None:
    """Over HTTP: a header with an underscore has the name of the proxy's in an environ."""
    app = Flask("shop")
    RateLimit(app, default=API, trusted_proxies=1)
    app.get("/")(lambda: g.rate_limit.actor)
    actors = []
    with make_server("127.0.0.1", 0, app) as server:
        for fields in (
            [("X-Forwarded-For", "203.0.113.9")],
            [("X-Forwarded-For", "198.51.100.1, 203.0.113.9")],
            [("X-Forwarded-For", "203.0.113.9"), ("X_Forwarded_For", "198.51.100.1")],
        ):
            thread = Thread(target=server.handle_request)
            thread.start()
            connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
            connection.putrequest("GET", "/")
            for field in fields:
                connection.putheader(*field)
            connection.endheaders()
            actors.append(connection.getresponse().read().decode())
            connection.close()
            thread.join()
    assert actors == ["ip:203.0.113.9", "ip:203.0.113.9", "ip:127.0.0.1"]
    assert told() == ["underscored-header"]


def test_two_places_with_one_name(told: Any) -> None:
    limiter = Limiter()
    inner = RateLimitMiddleware(hello, limiter, "50/minute")
    client = Client(RateLimitMiddleware, app=inner, limiter=limiter, limits="50/minute")
    client.ask()
    assert "same-name-twice" in told()


def test_a_limit_above_its_route(told: Any) -> None:
    app = Flask("shop")
    limiter = RateLimit(app)

    @limiter.limit("1/minute")
    @app.get("/above")
    def above() -> str:
        return "above"

    @app.get("/below")
    @limiter.limit("1/minute")
    def below() -> str:
        return "below"

    assert [app.test_client().get(path).status_code for path in ("/above", "/above", "/below", "/below")][-1] == 429
    assert told() == ["limit-not-applied"]


def test_one_instance_in_two_places_charges_once(told: Any) -> None:
    """The same middleware around an application and within it, and the same limit in two stores."""
    limited = RateLimitMiddleware(hello, Limiter(), API)
    client = Client(lambda _app: limited)
    limited.app = RateLimitMiddleware(hello, Limiter(), API)
    assert [client.ask().status for _ in range(2)] == [200, 200]
    seen: list[Any] = []

    async def again(scope: Any, receive: Any, send: Any) -> None:
        limited.app = hello
        seen.append(scope)
        await limited(scope, receive, send)

    limited.app = again
    assert client.ask().headers["x-ratelimit-remaining"] == "97"
    assert len(seen) == 1
    assert told() == []


def test_everything_is_trusted(told: Any) -> None:
    client = Client(RateLimitMiddleware, limits=API, trusted_proxies=True)
    for _ in range(3):
        client.ask(x_forwarded_for="203.0.113.9")
    assert told() == ["everything-trusted"]


def test_a_mistake_is_silenced(told: Any) -> None:
    client = Client(RateLimitMiddleware, limits=API, silence=["forwarded-not-trusted"])
    client.ask(x_forwarded_for="203.0.113.9")
    assert told() == []


@pytest.mark.parametrize(
    "other",
    [
        {"key": lambda _request: "ada"},
        {"cost": lambda _request: 0},
        {"factor": lambda _request: 0},
        {"shadow": True},
        {"limits": [API, FULL]},
    ],
    ids=["another client", "no charge", "no limit", "shadow mode", "denied"],
)
def test_what_an_instance_does_not_charge_is_not_counted_twice(told: Any, other: dict[str, Any]) -> None:
    limiter = Limiter(clock=Clock())
    limiter.limit(FULL, "ip:127.0.0.1")
    inner = RateLimitMiddleware(hello, limiter, **{"limits": API, **other})
    Client(RateLimitMiddleware, app=inner, limiter=limiter, limits=API).ask()
    assert told() == []


def test_one_request_is_counted_twice(told: Any) -> None:
    limiter = Limiter(clock=Clock())
    inner = RateLimitMiddleware(hello, limiter, API)
    client = Client(RateLimitMiddleware, app=inner, limiter=limiter, limits=API)
    assert [client.ask().headers["x-ratelimit-remaining"] for _ in range(2)] == ["98", "96"]
    assert told() == ["counted-twice"]


def test_applications_below_others_make_their_limiters_when_they_are_first_served(told: Any) -> None:
    mounted = FastAPI()
    mounted.add_middleware(FromFastAPI, limits=Bucket("inner", size=2))
    mounted.get("/")(lambda: "hello")
    app = FastAPI()
    app.add_middleware(FromFastAPI, limits=API)
    app.mount("/below", mounted)
    client = TestClient(app)
    assert [client.get("/below/").status_code for _ in range(3)] == [200, 200, 429]
    assert told() == []


def test_a_limiter_per_request(told: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await RateLimitMiddleware(hello, limits="5/minute")(scope, receive, send)

    client = Client(RateLimitMiddleware, app=app)
    for _ in range(3):
        client.ask()
    assert told() == ["limiter-per-request"]
    assert Path(__file__).name in caplog.text


def test_two_definitions_with_one_key(told: Any) -> None:
    limiter = Limiter()
    inner = RateLimitMiddleware(hello, limiter, Bucket("api", size=50))
    client = Client(RateLimitMiddleware, app=inner, limiter=limiter, limits=API)
    client.ask()
    client.ask()
    # They have one entry, which each request is charged to twice.
    assert told() == ["same-key-twice", "counted-twice"]


def test_a_store_that_cannot_be_reached(told: Any) -> None:
    client = Client(RateLimitMiddleware, limiter=f"redis://127.0.0.1:{free_port()}", limits=API)

    async def serve() -> None:
        for _ in range(3):
            assert (await client.ask_async()).status == 200
        await client.app.room.reaching

    client.loop.run_until_complete(serve())
    assert told().count("store-unreachable") == 1


def test_a_sync_limiter_on_an_event_loop(told: Any, redis: RedisServer) -> None:
    room = RateLimitMiddleware(hello, redis.url).room
    guard: Guard[Any] = Guard(API, key=lambda _request: "ada")

    async def serve() -> None:
        part = await room.part(guard, None, "")
        assert part is not None
        for _ in range(3):
            assert not room.decide([part]).blocked

    asyncio.run(serve())
    assert told() == ["sync-on-event-loop"]


@pytest.mark.parametrize("peer", [None, ("/run/app.sock", 0)])
def test_no_address(peer: Any) -> None:
    client = Client(RateLimitMiddleware, limits=API)
    with pytest.raises(ConfigurationError) as error:
        client.ask(peer=peer)
    assert error.value.code == "no-client-address"


COMMAND = "uvicorn plain:app --port {port} --workers 2 --log-level warning --timeout-worker-healthcheck 60"
PROGRAM = "import uvicorn; uvicorn.run('plain:app', port={port}, workers=2, timeout_worker_healthcheck=60)"


@pytest.mark.parametrize("words", [["-m", *COMMAND.split()], ["-c", PROGRAM]], ids=["command", "program"])
def test_memory_under_several_workers(words: list[str]) -> None:
    with Served(sys.executable, *words, folder=APPS, STORE="memory://") as server:
        for _ in range(8):
            server.ask()
        # Once in each worker.
        assert 1 <= server.log.count("errors/memory-many-workers.md") <= 2, server.log


def test_memory_under_one_worker() -> None:
    with Served.uvicorn("plain:app", APPS, STORE="memory://") as server:
        server.ask()
        assert "memory-many-workers" not in server.log


def test_a_dependency_without_the_middleware() -> None:
    with Served.uvicorn("alone:app", APPS) as server:
        answers = [server.ask() for _ in range(3)]
        assert [answer.status for answer in answers] == [200, 200, 429]
        assert "x-ratelimit-remaining" not in answers[0].headers
        assert "retry-after" in answers[2].headers
        assert server.log.count("errors/middleware-missing.md") == 1, server.log


def test_every_mistake_is_tested() -> None:
    # One is of Node's alone: here a place without a path has the application's name.
    text = Path(__file__).read_text(encoding="utf-8") + "name-missing"
    assert [code for code in MISTAKES if code not in text] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": "5/fortnight"}, "fortnight"),
        ({"limits": 5}, "limits must be a limit, a text such as '100/minute'"),
        ({"limits": []}, "limits must hold at least one limit"),
        ({"limits": API, "key": 5}, "key must be a function, got 5"),
        ({"limits": API, "key": "user"}, "key must be a function of the request or one of ip, header:NAME, got 'user'"),
        ({"limits": API, "cost": "1"}, "cost must be a whole number or a function, got '1'"),
        ({"limits": API, "skip": True}, "skip must be a function, got True"),
        ({"limits": API, "charge_on": "401"}, "charge_on must be a function of the response or the statuses"),
        ({"limits": API, "shadow": 5}, "shadow must be a limit"),
        ({"limits": API, "headers": "z"}, "headers"),
        ({"limits": API, "status": 200}, "status"),
        ({"limits": API, "trusted_proxies": -1}, "trusted"),
        ({"limits": API, "trusted": 1}, "trusted is not an option"),
        ({"limits": API, "limiter": 5}, "limiter must be a Limiter, an AsyncLimiter or the URL of a store, got 5"),
        ({"cost": 5}, "cost needs limits beside it"),
    ],
)
def test_options_are_checked_when_they_are_given(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LimitError) as error:
        RateLimitMiddleware(hello, **options)
    assert message in str(error.value)


def test_a_key_that_is_none_is_refused_by_type_checkers_too() -> None:
    # The comment is an error of mypy once it takes such a key.
    with pytest.raises(LimitError, match="key must be a function, got 5"):
        Dependency(API, key=5)  # type: ignore[arg-type]


def test_functions_of_fastapi_s_middleware_are_typed_by_its_request() -> None:
    async def key(request: Request) -> str:
        return request.url.path

    def refuse(request: Request, info: LimitInfo) -> Response:
        return PlainTextResponse(f"{request.url.path} {info.remaining}", 418)

    def other(request: AsgiRequest) -> str:
        return request.path

    app = FastAPI()
    app.add_middleware(FromFastAPI, limits="1/day", key=key, on_blocked=refuse)
    # The comment is an error of mypy once it takes a function of another request.
    FromFastAPI(app, limits="1/day", key=other)  # type: ignore[arg-type]
    client = Client(lambda app: app, app=app)
    assert [client.ask("/a").status for _ in range(2)] == [404, 418]


def test_any_limiter_is_a_limiter(redis: RedisServer) -> None:
    sync, aio = Limiter(redis.url, namespace="any", timeout=5), AsyncLimiter(redis.url, namespace="any", timeout=5)
    for limiter in (sync, aio, sync):
        client = Client(RateLimitMiddleware, limiter=limiter, limits=API)
        remaining = int(client.ask().headers["x-ratelimit-remaining"])
    assert remaining == 97
    # A URL is opened once in a process.
    first, second = (RateLimitMiddleware(hello, redis.url).room.store for _ in range(2))
    assert first is second


def test_an_actor_that_is_no_text() -> None:
    for key, status in {15: 200, 1.5: 200, math.nan: 400, b"ada": 400}.items():
        assert Client(RateLimitMiddleware, limits=API, key=lambda _request, key=key: key).ask().status == status
