"""Units that requests hold, apart from what the scenarios of all frameworks say."""

from __future__ import annotations

import asyncio
import importlib
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import flask
import pytest
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, StreamingHttpResponse
from django.test import override_settings
from django.urls import path as url
from fastapi import Depends, FastAPI, WebSocket
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import tidegate.flask
from harness import Client
from server import RedisServer
from serving import PATIENCE, ask, check_used, going_on, opened, over_uvicorn, over_werkzeug, writing_on
from tidegate import Bucket, Concurrency, Limiter, LimitError
from tidegate.asgi import MessageLimit, RateLimitMiddleware
from tidegate.fastapi import RateLimit
from tidegate.testing import use_limiter

sys.path.insert(0, str(Path(__file__).parent / "apps"))
importlib.import_module("site_of_django")

from rest_framework.decorators import api_view, throttle_classes  # noqa: E402

from tidegate.drf import RateLimitThrottle  # noqa: E402

# Long, so that no test waits for its end.
LEASE = 600_000


def exports(lease: float = LEASE) -> Concurrency:
    """One at once, of a name that no other test has."""
    return Concurrency(uuid4().hex, max=1, lease=lease)


def ada(_request: object) -> str:
    """The only actor."""
    return "ada"


def limiter_of(store: str) -> Limiter:
    """A limiter whose store may be slow, because the machine is busy."""
    return Limiter(store, timeout=10) if store.startswith("redis") else Limiter(store)


def starlette(limiter: Limiter, limits: Any) -> Any:
    async def stream(_request: Request) -> StreamingResponse:
        return StreamingResponse(going_on())

    async def fail(_request: Request) -> None:
        raise RuntimeError("on purpose")

    app = Starlette(routes=[Route("/open", stream), Route("/raise", fail)])
    app.add_middleware(RateLimitMiddleware, limiter=limiter, limits=limits, key=ada)
    return over_uvicorn(app)


def fail(*_given: object) -> str:
    raise RuntimeError("on purpose")


def flask_app(limiter: Limiter, limits: Any) -> Any:
    app = flask.Flask(__name__)
    app.config["PROPAGATE_EXCEPTIONS"] = True
    tidegate.flask.RateLimit(app, limiter, default=limits, key=ada)
    app.get("/open", endpoint="open")(lambda: flask.Response(writing_on()))
    app.get("/raise", endpoint="raise")(fail)
    return over_werkzeug(app)


@contextmanager
def django_site(limiter: Limiter, limits: Any) -> Iterator[int]:
    views = [url("open", lambda _request: StreamingHttpResponse(writing_on())), url("raise", fail)]
    settings = {"default": {"LOCATION": "memory://"}, "LIMITS": limits, "KEY": ada}
    made = override_settings(
        TIDEGATE=settings,
        ROOT_URLCONF=type("Urls", (), {"urlpatterns": views}),
        MIDDLEWARE=["tidegate.django.RateLimitMiddleware"],
        DEBUG_PROPAGATE_EXCEPTIONS=True,
    )
    with made, use_limiter(limiter), over_werkzeug(get_wsgi_application()) as port:
        yield port


SITES: list[Callable[[Limiter, Any], Any]] = [starlette, flask_app, django_site]


@pytest.mark.parametrize("site", SITES)
def test_a_stream_holds_and_an_exception_releases_in_every_store(site: Any, store: str) -> None:
    limit, limiter = exports(), limiter_of(store)
    with site(limiter, limit) as port:
        assert ask(port, "/raise").status == 500
        check_used(limiter, [(limit, "ada", 0)])
        with opened(port, "/open") as answer:
            assert answer.status == 200
            check_used(limiter, [(limit, "ada", 1)])
            assert ask(port, "/raise").status == 429
        check_used(limiter, [(limit, "ada", 0)])


@pytest.mark.parametrize("site", [starlette, flask_app])
def test_what_is_held_is_renewed_for_as_long_as_the_response_goes_on(site: Any, store: str) -> None:
    limit, limiter = exports(6000), limiter_of(store)
    with site(limiter, limit) as port, opened(port, "/open") as answer:
        assert answer.status == 200
        until, before = time.monotonic() + PATIENCE, limiter.peek(limit, "ada").full_reset_ms
        while time.monotonic() < until:
            now = limiter.peek(limit, "ada").full_reset_ms
            if now > before:
                break
            before = now
            time.sleep(0.01)
        assert now > before, "it was not renewed"


def test_limits_that_a_function_returns_are_held_too(store: str) -> None:
    limit, limiter = exports(), limiter_of(store)
    with starlette(limiter, lambda _request: limit) as port, opened(port, "/open"):
        assert ask(port, "/raise").status == 429
    check_used(limiter, [(limit, "ada", 0)])


def test_a_websocket_holds_until_it_is_closed_or_its_handler_fails(store: str) -> None:
    limit, limiter = exports(), limiter_of(store)
    app = FastAPI()
    app.add_middleware(RateLimitMiddleware, limiter=limiter)

    @app.websocket("/chat", dependencies=[Depends(RateLimit(limit, key=ada))])
    async def chat(websocket: WebSocket) -> None:
        await websocket.accept()
        while await websocket.receive_text() != "fail":
            await websocket.send_text("heard")
        raise RuntimeError("on purpose")

    with over_uvicorn(app) as port:
        address = f"ws://127.0.0.1:{port}/chat"
        for last in ["", "fail"]:
            with connect(address) as socket:
                socket.send("hello")
                assert socket.recv() == "heard"
                check_used(limiter, [(limit, "ada", 1)])
                with pytest.raises(InvalidStatus):
                    connect(address)
                if last:
                    socket.send(last)
            check_used(limiter, [(limit, "ada", 0)])


def test_a_route_of_fastapi_holds_what_its_dependencies_take_and_needs_the_middleware() -> None:
    limit, limiter = exports(), Limiter()
    needed = RateLimit([limit, "9/hour"], key=ada, limiter=limiter)
    for has_middleware in [True, False]:
        app = FastAPI()
        if has_middleware:
            app.add_middleware(RateLimitMiddleware)

        @app.get("/open", dependencies=[Depends(needed)])
        async def stream() -> StreamingResponse:
            return StreamingResponse(going_on())

        with over_uvicorn(app) as port:
            if has_middleware:
                with opened(port, "/open") as answer:
                    assert answer.status == 200
                    assert ask(port, "/open").status == 429
            else:
                assert ask(port, "/open").status == 500
            check_used(limiter, [(limit, "ada", 0)])


@pytest.mark.parametrize("has_middleware", [True, False])
def test_a_throttle_of_rest_framework_holds_and_needs_the_middleware(has_middleware: bool) -> None:
    limit, limiter = exports(), Limiter()

    class Exports(RateLimitThrottle):
        limits = limit
        key = ada

    def stream(_request: Any) -> Any:
        return StreamingHttpResponse(writing_on())

    view = api_view(["GET"])(throttle_classes([Exports])(stream))
    made = override_settings(
        TIDEGATE={},
        ROOT_URLCONF=type("Urls", (), {"urlpatterns": [url("open", view)]}),
        MIDDLEWARE=["tidegate.django.RateLimitMiddleware"] if has_middleware else [],
    )
    with made, use_limiter(limiter), over_werkzeug(get_wsgi_application()) as port:
        if has_middleware:
            with opened(port, "/open") as answer:
                assert answer.status == 200
                assert ask(port, "/open").status == 429
        else:
            assert ask(port, "/open").status == 500
        check_used(limiter, [(limit, "ada", 0)])


def test_a_response_without_a_body_holds_nothing_and_a_decorated_view_settles_by_itself() -> None:
    limit, limiter = exports(), Limiter()
    with flask_app(limiter, limit) as port:
        assert ask(port, "/open", "HEAD").status == 200
        check_used(limiter, [(limit, "ada", 0)])
    from tidegate.django import rate_limit

    decorated = rate_limit(limit, key=ada)(lambda _request: StreamingHttpResponse(writing_on()))
    made = override_settings(
        TIDEGATE={}, ROOT_URLCONF=type("Urls", (), {"urlpatterns": [url("open", decorated)]}), MIDDLEWARE=[]
    )
    with made, use_limiter(limiter), over_werkzeug(get_wsgi_application()) as port:
        with opened(port, "/open") as answer:
            assert answer.status == 200
            assert ask(port, "/open").status == 429
        check_used(limiter, [(limit, "ada", 0)])


def test_the_response_to_head_holds_nothing_where_its_client_resets_the_connection() -> None:
    limit, limiter = exports(), Limiter()
    with flask_app(limiter, limit) as port:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"HEAD /open HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            # Werkzeug's server reads what the client may still send, and closes no response if that fails.
            check_used(limiter, [(limit, "ada", 0)])


def test_a_request_that_is_cancelled_while_the_server_decides_holds_nothing() -> None:
    limit = exports()
    with RedisServer() as server:
        limiter = Limiter(server.url, timeout=10)
        client = Client(RateLimitMiddleware, limiter=limiter, limits=[limit, Bucket(uuid4().hex, size=9)], key=ada)

        async def give_up() -> None:
            assert (await client.ask_async()).status == 200
            server.pause()
            request = asyncio.ensure_future(client.ask_async())
            await asyncio.sleep(0.05)
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
            server.resume()
            # The server has decided by then.
            await asyncio.sleep(0.5)

        client.loop.run_until_complete(give_up())
        check_used(limiter, [(limit, "ada", 0)])


PLACES = ["middleware", "dependency", "django", "flask"]


@contextmanager
def limited_at(place: str, limiter: Limiter, limits: Any, **options: Any) -> Iterator[int]:
    """A server with one view, whose requests are limited in one way."""
    served: Any
    options = {"key": ada, **options}
    if place == "django":
        settings = {"LIMITS": limits, **{name.upper(): value for name, value in options.items()}}
        urls = type("Urls", (), {"urlpatterns": [url("", lambda _request: HttpResponse("done"))]})
        middleware = ["tidegate.django.RateLimitMiddleware"]
        made = override_settings(TIDEGATE=settings, ROOT_URLCONF=urls, MIDDLEWARE=middleware)
        with made, use_limiter(limiter), over_werkzeug(get_wsgi_application()) as port:
            yield port
    elif place == "flask":
        served = flask.Flask("served")
        tidegate.flask.RateLimit(served, limiter, default=limits, **options)
        served.get("/")(lambda: "done")
        with over_werkzeug(served) as port:
            yield port
    else:
        served = FastAPI()
        around = {"limits": limits, **options} if place == "middleware" else {}
        served.add_middleware(RateLimitMiddleware, limiter=limiter, **around)
        needed = [Depends(RateLimit(limits, limiter=limiter, **options))] if place == "dependency" else []
        served.get("/", dependencies=needed)(lambda: "done")
        with over_uvicorn(served) as port:
            yield port


@pytest.mark.parametrize("place", PLACES)
def test_a_request_that_fails_before_its_handler_holds_nothing(place: str) -> None:
    limit, limiter = exports(), Limiter()
    tried = Bucket(uuid4().hex, size=1, drip_rate=LEASE)
    with limited_at(place, limiter, limit, shadow=tried, on_blocked=fail) as port:
        assert [ask(port, "/").status for _ in range(2)] == [200, 500]
    check_used(limiter, [(limit, "ada", 0)])


@pytest.mark.parametrize("place", PLACES)
def test_a_predicate_of_responses_that_fails_is_logged_and_the_charge_stays(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    held, limit, limiter = exports(), Bucket(uuid4().hex, size=9, drip_rate=LEASE), Limiter()
    with limited_at(place, limiter, [held, limit], charge_on=fail) as port:
        assert [ask(port, "/").status for _ in range(2)] == [200, 200]
    check_used(limiter, [(held, "ada", 0), (limit, "ada", 2)])
    said = [record for record in caplog.records if record.message == "charge_on has failed, so the charge stays"]
    assert [str(record.exc_info and record.exc_info[1]) for record in said] == ["on purpose"] * 2


def test_messages_of_websockets_have_no_end_to_hold_until() -> None:
    with pytest.raises(LimitError, match="limit the websocket itself"):
        MessageLimit(exports(), limiter=Limiter())
