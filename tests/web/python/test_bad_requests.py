"""Keys and costs that a client has chosen wrongly: its own mistake in every framework, and no error of the program."""

from __future__ import annotations

import importlib
import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import Depends, FastAPI, HTTPException
from fastapi.testclient import TestClient
from flask import Flask
from flask import request as flask_request
from pydantic import BaseModel, TypeAdapter
from starlette.requests import Request
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from harness import Client, hello
from serving import ask, over_uvicorn
from tidegate import Bucket, Limiter
from tidegate.asgi import RateLimitMiddleware
from tidegate.fastapi import RateLimit
from tidegate.fastapi import RateLimitMiddleware as FromFastAPI
from tidegate.flask import RateLimit as FlaskRateLimit

sys.path.insert(0, str(Path(__file__).parent / "apps"))
importlib.import_module("site_of_django")

from django.core.asgi import get_asgi_application  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.test import Client as DjangoClient  # noqa: E402
from django.test import override_settings  # noqa: E402
from django.urls import path  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402

from tidegate.django import rate_limit  # noqa: E402
from tidegate.drf import RateLimitThrottle  # noqa: E402

TOKENS = Bucket("tokens", size=1000, drip_rate=86_400_000)


class Asked(BaseModel):
    """A body, as an estimate reads it."""

    cost: Any = 1
    user: Any = "ada"


VALUES = TypeAdapter(dict[str, Any])
ANSWERS = [
    ({"cost": 999}, 200),
    ({"cost": 5000}, 413),
    ({"cost": 10**400}, 400),
    ({"cost": 2**60}, 413),
    ({"cost": -1}, 400),
    ({"cost": 1.5}, 400),
    ({"cost": float("nan")}, 400),
    ({"cost": float("inf")}, 400),
    ({"cost": "5"}, 400),
    ({"cost": None}, 400),
    ({"cost": [1]}, 400),
    ({"user": "a\ud800"}, 400),
    ({"user": "a" * 70_000}, 400),
    ({"user": float("nan")}, 400),
    ({"user": {}}, 400),
    ({"user": True}, 400),
    ({"user": [[1, 2]]}, 400),
    ({"user": []}, 400),
    ({"user": [str(number) for number in range(1001)]}, 400),
    ({"user": "a\0b"}, 200),
    ({"user": 1.5}, 200),
    ({"user": ["ada", "eve"]}, 200),
    ([], 400),
    ("text", 400),
    (None, 400),
]


def of(text: str, name: str) -> Any:
    """Reads a header as JSON, whose errors of validation are the client's."""
    return getattr(Asked(**VALUES.validate_python(json.loads(text))), name)


def options(text: Callable[[Any], str]) -> dict[str, Any]:
    return {"cost": lambda request: of(text(request), "cost"), "key": lambda request: of(text(request), "user")}


def asgi() -> Callable[[str], Any]:
    client = Client(RateLimitMiddleware, limits=TOKENS, **options(lambda request: request.headers["x-asked"]))
    return lambda asked: client.ask(x_asked=asked)


def fastapi_app(**more: Any) -> FastAPI:
    app = FastAPI()

    @app.get("/", dependencies=[Depends(RateLimit(TOKENS, **more))])
    async def shop() -> str:
        return "hello"

    app.add_middleware(FromFastAPI)
    return app


def in_header(request: Any) -> str:
    return str(request.headers["x-asked"])


def fastapi() -> Callable[[str], Any]:
    client = Client(lambda app: app, app=fastapi_app(**options(in_header)))
    return lambda asked: client.ask(x_asked=asked)


def fastapi_coroutines() -> Callable[[str], Any]:
    async def cost(request: Request) -> Any:
        return of(in_header(request), "cost")

    async def key(request: Request) -> Any:
        return of(in_header(request), "user")

    client = Client(lambda app: app, app=fastapi_app(cost=cost, key=key))
    return lambda asked: client.ask(x_asked=asked)


class Told:
    """An answer of a test client."""

    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status, self.body = status, body
        self.headers = {name.lower(): value for name, value in headers.items()}


def flask() -> Callable[[str], Any]:
    app = Flask("shop")
    limits = FlaskRateLimit(app)
    app.get("/")(limits.limit(TOKENS, **options(lambda _request: flask_request.headers["x-asked"]))(lambda: "hello"))

    def ask(asked: str) -> Told:
        answer = app.test_client().get("/", headers={"X-Asked": asked})
        return Told(answer.status_code, answer.headers, answer.data)

    return ask


@rate_limit(TOKENS, **options(in_header))
def view(_request: Any) -> HttpResponse:
    return HttpResponse("hello")


class Spent(RateLimitThrottle):
    limits = TOKENS
    cost = staticmethod(lambda request: of(in_header(request), "cost"))
    key = staticmethod(lambda request: of(in_header(request), "user"))


class Shop(APIView):  # type: ignore[misc]
    authentication_classes = ()
    throttle_classes = (Spent,)

    def get(self, _request: Any) -> Response:
        return Response("hello")


urlpatterns = [path("", view), path("drf", Shop.as_view())]


def of_django(where: str) -> Callable[[str], Any]:
    def ask(asked: str) -> Told:
        answer: Any = DjangoClient(raise_request_exception=False).get(where, headers={"X-Asked": asked})
        return Told(answer.status_code, answer.headers, answer.content)

    return ask


PLACES = {
    "asgi": asgi,
    "fastapi": fastapi,
    "fastapi with coroutines": fastapi_coroutines,
    "flask": flask,
    "django": lambda: of_django("/"),
    "drf": lambda: of_django("/drf"),
}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Any]:
    with override_settings(ROOT_URLCONF=__name__, TIDEGATE={}):
        yield PLACES[request.param]


def test_what_a_client_chooses_is_its_own_mistake(place: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    ask = place()
    for asked, status in ANSWERS:
        answer = ask(json.dumps(asked))
        assert answer.status == status, asked
        assert "retry-after" not in answer.headers
    assert ask("{").status == 400
    assert not caplog.records


def test_a_cost_that_never_fits_is_a_problem(place: Any, request: pytest.FixtureRequest) -> None:
    answer = place()(json.dumps({"cost": 5000}))
    assert b"exceeds the limit" in answer.body
    if "drf" in request.node.name:
        # REST framework renders it.
        return
    assert answer.headers["content-type"] == "application/problem+json"
    assert json.loads(answer.body)["status"] == 413


@pytest.mark.parametrize(
    ("key", "actor"),
    [
        *[(7.0, "7"), (-0.0, "0"), (1.5, "1.5"), (1e16, "10000000000000000"), (1e21, "1e+21"), (-1.5e300, "-1.5e+300")],
        (2**62 * 1.0, "4611686018427388000"),
        *[(0.0001, "0.0001"), (-2.5e-5, "-0.000025"), (1e-6, "0.000001"), (1e-7, "1e-7"), (-2.5e-9, "-2.5e-9")],
    ],
)
def test_a_number_is_the_actor_that_javascript_makes_of_it(key: float, actor: str) -> None:
    limiter, door = Limiter(), Bucket("door", size=2)
    assert Client(RateLimitMiddleware, limiter=limiter, limits=door, key=lambda _request: key).ask().status == 200
    assert limiter.peek(door, actor).remaining == 1


@pytest.mark.parametrize("names", [[None, None], ("", None), ["ada", "ada"], [7, "7", 7.0]])
def test_a_list_that_names_one_actor_twice(names: Any) -> None:
    for size in (1, 10):
        answer = Client(RateLimitMiddleware, limits=Bucket("door", size=size), key=lambda _request: names).ask()
        assert (answer.status, answer.headers["x-ratelimit-remaining"]) == (200, str(size - 1))


def test_a_limit_that_is_listed_twice() -> None:
    for limits in ([TOKENS, TOKENS], lambda _request: [TOKENS, TOKENS]):
        answer = Client(RateLimitMiddleware, limits=limits).ask()
        assert (answer.status, answer.headers["x-ratelimit-remaining"]) == (200, "999")


def test_an_empty_tuple_names_nobody() -> None:
    assert Client(RateLimitMiddleware, limits=TOKENS, key=lambda _request: ()).ask().status == 400


def test_a_key_that_is_sent_twice() -> None:
    limited = RateLimitMiddleware(hello, limits=TOKENS, key="header:x-api-key")
    twice = [(b"x-api-key", b"one"), (b"x-api-key", b"two")]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await limited({**scope, "headers": twice}, receive, send)

    assert Client(lambda app: app, app=app).ask().status == 400


def test_an_error_of_another_kind_stays_one() -> None:
    def cost(_request: Any) -> int:
        raise KeyError("tokens")

    with pytest.raises(KeyError):
        Client(RateLimitMiddleware, limits=TOKENS, cost=cost).ask()

    def teapot(_request: Any) -> int:
        raise HTTPException(418)

    assert TestClient(fastapi_app(cost=teapot)).get("/").status_code == 418


def test_a_shadow_limit_refuses_no_cost() -> None:
    """It is decided beside the others, so it must not fail with what it could not admit."""
    strict = Bucket("strict", size=1)
    for observed in ({"shadow": strict}, {"candidate": strict}, {"shadow": True}):
        client = Client(RateLimitMiddleware, limits=TOKENS, cost=lambda _request: 5, **observed)
        assert client.ask().status == 200
    alone = Client(RateLimitMiddleware, limits=strict, cost=lambda _request: 5, shadow=True)
    assert alone.ask().status == 200
    client = Client(RateLimitMiddleware, limits=TOKENS, cost=lambda _request: 5000, shadow=strict)
    assert client.ask().status == 413


def test_a_client_cannot_spend_the_limit_of_an_address() -> None:
    limiter, one = Limiter(), Bucket("one", size=1, drip_rate=86_400_000)
    client = Client(RateLimitMiddleware, limiter=limiter, limits=one, key="header:x-api-key")
    for key in ("203.0.113.9", "ip:203.0.113.9", "key:ip:203.0.113.9"):
        assert client.ask(x_api_key=key).status == 200
    assert client.ask(peer=("203.0.113.9", 1)).status == 200
    assert client.ask(peer=("203.0.113.9", 1)).status == 429
    # A key that looks like nothing else is the actor itself.
    limiter.reset(one, "203.0.113.9")
    assert client.ask(x_api_key="203.0.113.9").status == 200


def behind_a_dependency() -> Any:
    app = FastAPI()
    app.add_middleware(FromFastAPI)
    app.get("/", dependencies=[Depends(RateLimit("9/hour"))])(lambda: "hello")
    return app


@pytest.mark.parametrize(
    "made",
    [
        lambda: RateLimitMiddleware(hello, limits="9/hour"),
        lambda: RateLimitMiddleware(hello, limits="9/hour", key=lambda _request: None),
        behind_a_dependency,
        get_asgi_application,
    ],
    ids=["middleware", "key", "dependency", "django"],
)
def test_what_a_server_takes_for_an_address_is_the_clients_mistake(made: Callable[[], Any]) -> None:
    """As uvicorn with ``--forwarded-allow-ips '*'`` takes whatever the header begins with."""
    project = {"default": {"LOCATION": "memory://"}, "LIMITS": "9/hour"}
    middleware = ["tidegate.django.RateLimitMiddleware"]
    urls = type("Urls", (), {"urlpatterns": [path("", lambda _request: HttpResponse())]})
    with (
        override_settings(TIDEGATE=project, MIDDLEWARE=middleware, ROOT_URLCONF=urls),
        over_uvicorn(ProxyHeadersMiddleware(made(), "*")) as port,
    ):
        sent = ("foo", "foo:99", "unknown, 203.0.113.9", "203.0.113.9")
        statuses = [ask(port, x_forwarded_for=line).status for line in sent]
    assert statuses == [400, 400, 400, 200]
