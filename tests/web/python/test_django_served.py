"""Django over real HTTP, by WSGI and ASGI."""

from __future__ import annotations

import contextlib
import http.client
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from server import RedisServer
from serving import Served
from tidegate import parse_headers

APPS = Path(__file__).parent / "apps"


@pytest.fixture
def key() -> str:
    """An actor of one test."""
    return uuid4().hex


@pytest.fixture(scope="module", params=["wsgi", "asgi"])
def served(request: pytest.FixtureRequest, store: str) -> Iterator[Served]:
    if request.param == "asgi":
        server = Served.uvicorn("site_of_django:asgi", APPS, "--lifespan", "off", STORE=store)
    else:
        server = Served(
            sys.executable, "-c", "import site_of_django; site_of_django.serve({port})", folder=APPS, STORE=store
        )
    with server:
        yield server


def test_over_http(served: Served, key: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda item: served.ask(f"/items/{item}/", x_api_key=key), range(12)))
    assert Counter(answer.status for answer in answers) == {200: 3, 429: 9}
    assert all("x-ratelimit-remaining" in answer.headers for answer in answers)


@pytest.mark.parametrize("path", ["/stream/", "/stream/later/"])
def test_streams_over_http(served: Served, key: str, path: str) -> None:
    assert served.ask(path, x_api_key=key).body == b"xxx"
    again = served.ask(path, x_api_key=key)
    assert {policy.name: policy.remaining for policy in parse_headers(again.headers).policies}["tokens"] == 47


def left(served: Served, key: str, least: int) -> int:
    """The tokens that are left, once they are at least so many."""
    until = time.monotonic() + 20
    while (found := int(served.ask("/left/", x_api_key=key).body)) < least and time.monotonic() < until:
        time.sleep(0.02)
    return found


def hang_up(served: Served, path: str, key: str, behind: bytes) -> None:
    """Goes away in the middle of a response, behind these bytes."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {key}\r\n\r\n".encode())
        seen = b""
        while behind not in seen:
            part = client.recv(4096)
            assert part, seen
            seen += part


# Each kind of view under the handler that serves it as it is; Django reads a sync stream to its end for ASGI.
@pytest.mark.parametrize(("handler", "path"), [("wsgi", "/stream/long/"), ("asgi", "/stream/long/later/")])
def test_a_client_that_goes_away_pays_for_what_was_sent(served: Served, key: str, handler: str, path: str) -> None:
    if (handler == "asgi") != ("uvicorn" in served.command):
        pytest.skip("the other handler's")
    hang_up(served, path, key, b"x\r\n" if handler == "asgi" else b"\r\n\r\nx")
    assert left(served, key, 51) >= 60


def go_away_early(served: Served, key: str) -> int:
    """The quota that is left when a client has gone away from a view that said what it used so far."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as client:
        client.sendall(f"GET /slow/ HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {key}\r\n\r\n".encode())
        until = time.monotonic() + 20
        while left(served, key, 0) == 100 and time.monotonic() < until:
            time.sleep(0.02)
        assert left(served, key, 0) == 50
    return left(served, key, 95)


def test_a_client_that_goes_away_before_the_response(served: Served, key: str) -> None:
    if "uvicorn" not in served.command:
        pytest.skip("a view of WSGI cannot be cancelled")
    assert go_away_early(served, key) == 95


def test_a_client_that_goes_away_from_below_a_sync_middleware(redis: RedisServer, key: str) -> None:
    options = {"STORE": redis.url, "USERS": "users_in_thread"}
    with Served.uvicorn("site_of_django:asgi", APPS, "--lifespan", "off", **options) as server:
        assert go_away_early(server, key) == 95
        assert server.ask("/later/", x_api_key=key).headers["x-ratelimit-remaining"] == "2"


def test_one_worker_of_asgi_is_no_mistake() -> None:
    with Served.uvicorn("site_of_django:asgi", APPS, "--lifespan", "off") as server:
        assert server.ask("/items/1/").status == 200
        assert "memory-many-workers" not in server.log


@pytest.mark.parametrize("path", ["/stream/broken/", "/stream/broken/later/"])
def test_a_stream_that_breaks_off_is_settled(served: Served, key: str, path: str) -> None:
    with contextlib.suppress(http.client.HTTPException, OSError):
        served.ask(path, x_api_key=key)
    assert left(served, key, 93) == 93
