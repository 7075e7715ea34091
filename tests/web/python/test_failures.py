"""Requests that cannot be decided: a store that fails with ``on_error="raise"``, and actors that no name can be."""

from __future__ import annotations

import asyncio
import importlib
import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fastapi import Depends, FastAPI, Request, WebSocket
from fastapi.responses import JSONResponse
from flask import Flask
from flask import request as flask_request
from litestar import Litestar, get
from litestar.middleware import DefineMiddleware

from harness import Client, hello
from tidegate import AsyncLimiter, Bucket, Limiter, LimitError, StoreError, TidegateError
from tidegate.asgi import RateLimitMiddleware
from tidegate.fastapi import RateLimit
from tidegate.fastapi import RateLimitMiddleware as FromFastAPI
from tidegate.flask import RateLimit as FlaskRateLimit

sys.path.insert(0, str(Path(__file__).parent / "apps"))
site: Any = importlib.import_module("site_of_django")

from django.http import HttpResponse  # noqa: E402
from django.test import AsyncClient, override_settings  # noqa: E402
from django.test import Client as DjangoClient  # noqa: E402
from django.urls import path  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402

from tidegate.django import rate_limit  # noqa: E402
from tidegate.drf import RateLimitThrottle  # noqa: E402

DOOR = Bucket("door", size=5)
# Half of a surrogate pair, as JSON has it; and one byte more than a name may have.
MALFORMED = {"lone surrogate": "ada\ud800", "too long": "a" * 65_537}


@pytest.fixture
def down() -> Iterator[Limiter]:
    """A limiter whose store is not there."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        yield Limiter(f"redis://user:secret@127.0.0.1:{nobody.getsockname()[1]}", on_error="raise")


@pytest.fixture(params=list(MALFORMED))
def actor(request: pytest.FixtureRequest) -> str:
    return MALFORMED[request.param]


def fastapi_app(limiter: Limiter, key: Any = None, **handlers: Any) -> Client:
    """An application with a limit of a route, and one of the middleware on other paths."""
    app = FastAPI()

    @app.get("/route", dependencies=[Depends(RateLimit(DOOR, key=key))])
    async def route() -> str:
        return "route"

    options = {"key": key} if key else {}
    app.add_middleware(
        RateLimitMiddleware, limiter=limiter, limits=DOOR, skip=lambda request: request.path == "/route", **options
    )
    for name, handler in handlers.items():
        app.add_exception_handler(getattr(sys.modules["tidegate"], name), handler)
    return Client(lambda app: app, app=app)


def test_asgi_answers_that_the_store_failed(down: Limiter) -> None:
    answer = Client(RateLimitMiddleware, limiter=down, limits=DOOR, silence="store-unreachable").ask()
    assert (answer.status, answer.body) == (503, b"Service Unavailable")
    outer = Client(
        lambda app, **options: RateLimitMiddleware(RateLimitMiddleware(app, **options)), limiter=down, limits=DOOR
    )
    assert outer.ask().status == 503


def test_asgi_closes_a_websocket(down: Limiter) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    limited = RateLimitMiddleware(hello, limiter=down, limits=DOOR)
    scope = {"type": "websocket", "path": "/", "headers": [], "client": ("203.0.113.9", 1)}
    asyncio.run(limited({**scope}, None, send))  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1013, "reason": "Service Unavailable"}]
    sent.clear()
    asyncio.run(limited({**scope, "extensions": {"websocket.http.response": {}}}, None, send))  # type: ignore[arg-type]
    assert [message["type"] for message in sent] == ["websocket.http.response.start", "websocket.http.response.body"]
    assert sent[0]["status"] == 503


@pytest.mark.parametrize("where", ["/route", "/elsewhere"])
def test_fastapi_answers_that_the_store_failed(down: Limiter, where: str) -> None:
    answer = fastapi_app(down).ask(where)
    assert answer.status == 503
    assert b"Service Unavailable" in answer.body
    assert b"secret" not in answer.body


@pytest.mark.parametrize("where", ["/route", "/elsewhere"])
@pytest.mark.parametrize("name", ["StoreError", "TidegateError"])
def test_fastapi_asks_the_handlers_of_the_application(down: Limiter, where: str, name: str) -> None:
    async def later(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, StoreError)
        assert (error.failure in {"unreachable", "unavailable"}, "127.0.0.1" in error.server) == (True, True)
        assert "the store did not decide" in str(error)
        return JSONResponse({"later": True}, 599)

    def now(request: Request, error: Exception) -> JSONResponse:
        return asyncio.run(later(request, error))

    for handler in (later, now):
        answer = fastapi_app(down, **{name: handler}).ask(where)
        assert (answer.status, json.loads(answer.body)) == (599, {"later": True})


@pytest.mark.parametrize("where", ["/route", "/elsewhere"])
def test_fastapi_answers_that_a_request_is_bad(store: str, actor: str, where: str) -> None:
    limiter = Limiter(store, timeout=5)
    answer = fastapi_app(limiter, lambda _request: actor).ask(where)
    assert answer.status == 400
    assert limiter.entries == 0

    async def own(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, LimitError)
        assert (error.key, error.field) == ("door", "actor")
        return JSONResponse({}, 422)

    assert fastapi_app(limiter, lambda _request: actor, LimitError=own).ask(where).status == 422


@pytest.mark.parametrize("status", [400, 503])
def test_another_framework_has_handlers_for_its_own_requests(down: Limiter, status: int) -> None:
    def handle(_request: Any, _error: Exception) -> Any:
        raise AssertionError

    @get("/")
    async def root() -> str:
        return "hello"

    options = {"limiter": down} if status == 503 else {"key": lambda _request: MALFORMED["too long"]}
    middleware: Any = RateLimitMiddleware
    limited = DefineMiddleware(middleware, limits=DOOR, silence="store-unreachable", **options)
    app: Any = Litestar([root], exception_handlers={ValueError: handle, OSError: handle}, middleware=[limited])
    assert Client(lambda app: app, app=app).ask().status == status


def handshake(app: FastAPI, *headers: tuple[bytes, bytes], **more: Any) -> list[Any]:
    """The messages of an application to a websocket."""
    scope = {"type": "websocket", "path": "/", "query_string": b"", "headers": [*headers], "client": ("203.0.113.9", 1)}
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app({**scope, **more}, receive, send))
    return sent


def fastapi_socket(limiter: Limiter, key: Any) -> FastAPI:
    app = FastAPI()
    app.add_middleware(FromFastAPI, limiter=limiter, silence="store-unreachable")

    @app.websocket("/", dependencies=[Depends(RateLimit(DOOR, key=key))])
    async def talk(socket: WebSocket) -> None:
        await socket.accept()
        await socket.close()

    return app


def number(request: Any) -> str:
    return str(int(request.headers["x-api-key"]))


@pytest.mark.parametrize("key", ["header:x-api-key", number], ids=["header", "function"])
def test_fastapi_refuses_a_websocket_whose_request_is_bad(key: Any) -> None:
    app, twice = fastapi_socket(Limiter(), key), [(b"x-api-key", b"one"), (b"x-api-key", b"two")]
    assert handshake(app, (b"x-api-key", b"1"))[0]["type"] == "websocket.accept"
    assert handshake(app, *twice) == [{"type": "websocket.close", "code": 1008, "reason": "Bad Request"}]
    start, body = handshake(app, *twice, extensions={"websocket.http.response": {}})
    assert (start["status"], json.loads(body["body"])["status"]) == (400, 400)


def test_fastapi_closes_a_websocket_when_the_store_failed(down: Limiter) -> None:
    app = fastapi_socket(down, None)
    assert handshake(app) == [{"type": "websocket.close", "code": 1013, "reason": "Service Unavailable"}]
    start, body = handshake(app, extensions={"websocket.http.response": {}})
    assert (start["status"], body["body"]) == (503, b"Service Unavailable")

    @app.exception_handler(StoreError)
    async def later(socket: WebSocket, error: StoreError) -> None:
        assert "the store did not decide" in str(error)
        await socket.close(4000)

    app.middleware_stack = None
    assert handshake(app) == [{"type": "websocket.close", "code": 4000, "reason": ""}]


def test_an_error_of_the_program_is_still_one() -> None:
    with pytest.raises(LimitError, match="factor"):
        Client(RateLimitMiddleware, limits=DOOR, factor=lambda _request: -1).ask()
    # Its own cost, and a limit that a function has chosen.
    with pytest.raises(LimitError, match="cost"):
        Client(RateLimitMiddleware, limits=lambda _request: DOOR, cost=6).ask()


def flask_app(limiter: Limiter, **options: Any) -> Flask:
    app = Flask("shop")
    limits = FlaskRateLimit(app, limiter, silence="store-unreachable")

    @app.post("/")
    @limits.limit(DOOR, **options)
    def shop() -> str:
        return "hello"

    @app.get("/inner")
    def inner() -> Any:
        return limits.limit(DOOR, **options)(lambda: "inner")()

    return app


def test_flask_answers_that_the_store_failed(down: Limiter) -> None:
    app = flask_app(down)
    for answer in (app.test_client().post("/"), app.test_client().get("/inner")):
        assert answer.status_code == 503
        assert b"secret" not in answer.data


@pytest.mark.parametrize("kind", [StoreError, TidegateError, ConnectionError, 503])
def test_flask_asks_the_handlers_of_the_application(down: Limiter, kind: Any) -> None:
    app = flask_app(down)

    @app.errorhandler(kind)
    def handle(error: Exception) -> tuple[str, int]:
        assert isinstance(error, StoreError)
        assert "the store did not decide" in str(error)
        return error.failure, 599

    answer = app.test_client().post("/")
    assert (answer.status_code, answer.text in {"unreachable", "unavailable"}) == (599, True)


def test_flask_answers_that_a_request_is_bad(store: str, actor: str) -> None:
    limiter = Limiter(store, timeout=5)
    app = flask_app(limiter, key=lambda _request: flask_request.get_json()["user"])
    app.testing = True
    assert app.test_client().post("/", json={"user": actor}).status_code == 400
    assert app.test_client().post("/", json={"user": "ada"}).status_code == 200
    handled = flask_app(limiter, key=lambda _request: actor)

    @handled.errorhandler(LimitError)
    def handle(error: Exception) -> tuple[str, int]:
        assert isinstance(error, LimitError)
        return error.field, 422

    answer = handled.test_client().post("/")
    assert (answer.status_code, answer.text) == (422, "actor")


@rate_limit(DOOR, key=lambda request: json.loads(request.body)["user"])
def view(_request: Any) -> HttpResponse:
    return HttpResponse("view")


@rate_limit(DOOR, key=lambda request: json.loads(request.body)["user"])
async def view_later(_request: Any) -> HttpResponse:
    return HttpResponse("view")


def asking(_request: Any) -> HttpResponse:
    """A view that asks a limiter itself."""
    Limiter("redis://127.0.0.1:1", on_error="raise").limit(DOOR, "ada")
    return HttpResponse("view")


class Throttle(RateLimitThrottle):
    limits = DOOR
    key = staticmethod(lambda request: request.data["user"])


class Api(APIView):  # type: ignore[misc]
    authentication_classes: Any = ()
    permission_classes: Any = ()
    throttle_classes: Any = (Throttle,)

    def post(self, _request: Any) -> Response:
        return Response("api")


urlpatterns = [path("view/", view), path("later/", view_later), path("asking/", asking), path("api/", Api.as_view())]


class Handler:
    """A middleware that answers a ``StoreError`` of a view."""

    sync_capable = async_capable = True

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        return self.get_response(request)

    def process_exception(self, _request: Any, error: Exception) -> HttpResponse | None:
        return HttpResponse(status=599) if isinstance(error, StoreError) else None


MIDDLEWARE = "tidegate.django.RateLimitMiddleware"
HANDLER = f"{__name__}.Handler"


def ask_django(where: str, user: str, is_async: bool = False) -> Any:
    if is_async:
        client: Any = AsyncClient(raise_request_exception=False)
        return asyncio.run(client.post(where, {"user": user}, content_type="application/json"))
    return DjangoClient(raise_request_exception=False).post(where, {"user": user}, content_type="application/json")


def settings(location: str, *middleware: str, **more: Any) -> Any:
    project = {
        "default": {"LOCATION": location, "OPTIONS": {"on_error": "raise", "timeout": 5, "namespace": uuid4().hex}},
        **more,
    }
    if location == "memory://":
        project["default"] = {"LOCATION": location}
    return override_settings(TIDEGATE=project, MIDDLEWARE=[*middleware], ROOT_URLCONF=__name__)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("where", ["/view/", "/later/", "/asking/", "/api/"])
def test_django_answers_that_the_store_failed(where: str, is_async: bool) -> None:
    with settings("redis://user:secret@127.0.0.1:1", MIDDLEWARE):
        answer = ask_django(where, "ada", is_async)
        assert (answer.status_code, b"Service" in answer.content) == (503, True)
        assert b"secret" not in answer.content


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("where", ["/view/", "/nowhere/"])
def test_the_project_s_own_limits(where: str, is_async: bool) -> None:
    with settings("redis://127.0.0.1:1", MIDDLEWARE, LIMITS="5/minute"):
        assert ask_django(where, "ada", is_async).status_code == 503


def test_middlewares_below_see_the_error_first() -> None:
    with settings("redis://127.0.0.1:1", MIDDLEWARE, HANDLER):
        assert ask_django("/asking/", "ada").status_code == 599
    with settings("redis://127.0.0.1:1", HANDLER):
        assert ask_django("/view/", "ada").status_code == 599
        assert ask_django("/api/", "ada").status_code == 503


@pytest.mark.parametrize("middleware", [[MIDDLEWARE], []], ids=["middleware", "alone"])
@pytest.mark.parametrize("where", ["/view/", "/later/", "/api/"])
def test_django_answers_that_a_request_is_bad(store: str, actor: str, where: str, middleware: list[str]) -> None:
    with settings(store, *middleware):
        for is_async in (False, True):
            answer = ask_django(where, actor, is_async)
            assert answer.status_code == 400
        assert ask_django(where, "ada").status_code == 200


def test_rest_framework_asks_the_handler_of_the_project() -> None:
    def handler(error: Exception, _context: Any) -> Response:
        assert isinstance(error, StoreError)
        assert error.failure in {"unreachable", "unavailable"}
        return Response(status=599)

    framework = {**site.settings.REST_FRAMEWORK, "EXCEPTION_HANDLER": handler}
    with settings("redis://127.0.0.1:1"), override_settings(REST_FRAMEWORK=framework):
        assert ask_django("/api/", "ada").status_code == 599


def test_asynchronous_callers_see_the_error() -> None:
    with pytest.raises(StoreError):
        asyncio.run(AsyncLimiter("redis://127.0.0.1:1", on_error="raise").limit(DOOR, "ada"))
