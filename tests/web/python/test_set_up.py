"""Limits as they are set up: names of places, and mistakes that are errors before a request is served."""

from __future__ import annotations

import asyncio
import importlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Request
from fastapi.testclient import TestClient
from flask import Blueprint, Flask, g
from starlette.responses import JSONResponse

from harness import Client, hello
from server import RedisServer
from tidegate import Bucket, Limiter, LimitError, LimitInfo, client_of
from tidegate.asgi import MessageLimit, RateLimitMiddleware
from tidegate.fastapi import RateLimit
from tidegate.fastapi import RateLimitMiddleware as FromFastAPI
from tidegate.flask import RateLimit as FlaskRateLimit

sys.path.insert(0, str(Path(__file__).parent / "apps"))
importlib.import_module("site_of_django")

from django.core import checks  # noqa: E402
from django.core.management import CommandError, call_command  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.test import AsyncClient, override_settings  # noqa: E402
from django.test import Client as DjangoClient  # noqa: E402
from django.urls import include, path, re_path  # noqa: E402
from django.utils.decorators import method_decorator  # noqa: E402
from django.views import View  # noqa: E402

from tidegate.django import async_limiter, exempt, limiter, rate_limit  # noqa: E402
from tidegate.drf import RateLimitThrottle  # noqa: E402

urlpatterns: list[Any] = []


@pytest.fixture
def site() -> Iterator[None]:
    with override_settings(ROOT_URLCONF=__name__, TIDEGATE={}):
        yield


def key_of(request: Any, **_arguments: Any) -> HttpResponse:
    return HttpResponse(", ".join(check.key for check in request.rate_limit.checks))


@pytest.mark.usefixtures("site")
def test_names_of_places() -> None:
    """The same in every framework, so that programs in two languages enforce one limit."""
    app = FastAPI()
    app.add_middleware(FromFastAPI, limits="9/day")

    @app.api_route("/users/{id}", methods=["PUT", "PATCH"])
    @app.get("/users/{id}")
    async def users(id: int, info: Annotated[LimitInfo, Depends(RateLimit(["9/day", "3/minute"]))]) -> list[str]:
        assert id == 7
        return [check.key for check in info.checks]

    client = TestClient(app)
    assert client.get("/users/7").json() == ["GET /users/{id}@1d", "GET /users/{id}@1m"]
    assert client.put("/users/7").json() == ["PATCH,PUT /users/{id}@1d", "PATCH,PUT /users/{id}@1m"]

    flask = Flask("shop")
    limits = FlaskRateLimit(flask, default="9/day")

    @flask.put("/users/<int:id>")
    @flask.get("/users/<int:id>")
    @limits.limit("3/minute")
    def shown(id: int) -> list[str]:
        assert id == 7
        return [check.key for check in g.rate_limit.checks]

    assert flask.test_client().get("/users/7").json == ["app", "GET /users/{id}"]
    assert flask.test_client().put("/users/7").json == ["app", "PUT /users/{id}"]

    urlpatterns[:] = [
        path("api/", include([path("users/<int:id>/", rate_limit("3/minute")(key_of))])),
        re_path(r"^old/(?P<id>[0-9]+)/$", rate_limit("3/minute")(key_of)),
    ]
    with override_settings(TIDEGATE={"LIMITS": "9/day"}):
        assert DjangoClient().get("/api/users/7/").content == b"app, /api/users/{id}/"
        assert DjangoClient().get("/old/7/").content == b"app, /old/{id}/"
    asgi = Client(RateLimitMiddleware, limits=lambda _request: "9/day")
    asgi.ask("/users/7")
    assert asgi.state["rate_limit"].key == "app"


def test_limits_of_a_fastapi_application_are_its_own() -> None:
    app = FastAPI(dependencies=[Depends(RateLimit("3/day"))])
    app.add_middleware(FromFastAPI)
    for name in ("one", "two"):
        app.get(f"/{name}", dependencies=[Depends(RateLimit("9/day"))])(lambda: "hello")
    client = TestClient(app)
    assert [client.get(where).status_code for where in ("/one", "/two", "/one", "/two")] == [200, 200, 200, 429]


def two_limits_of_fastapi() -> Any:
    router = APIRouter(dependencies=[Depends(RateLimit("9/day"))])
    router.get("/", dependencies=[Depends(RateLimit("3/day"))])(lambda: "hello")
    app = FastAPI()
    app.add_middleware(FromFastAPI)
    app.include_router(router)
    return TestClient(app).get("/")


def two_limits_of_one_name() -> Any:
    app = FastAPI()
    app.add_middleware(FromFastAPI)
    limits = [Depends(RateLimit("9/day", name="api")), Depends(RateLimit("3/day", name="api"))]
    app.get("/", dependencies=limits)(lambda: "hello")
    with TestClient(app):
        return None


def two_limits_of_flask() -> Any:
    app = Flask("shop")
    app.testing = True
    limits = FlaskRateLimit(app)
    shop = limits.limit("9/day")(Blueprint("shop", "shop"))
    shop.get("/")(limits.limit("3/day")(lambda: "hello"))
    app.register_blueprint(shop)
    return app.test_client().get("/other")


def two_limits_of_django() -> Any:
    urlpatterns[:] = [path("", rate_limit("9/day")(rate_limit("3/day")(key_of)))]
    found = [check for check in checks.run_checks() if check.id == "tidegate.E002"]
    assert len(found) == 1
    return DjangoClient().get("/")


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    "made", [two_limits_of_fastapi, two_limits_of_one_name, two_limits_of_flask, two_limits_of_django]
)
def test_limits_that_no_decision_could_take(made: Any) -> None:
    with pytest.raises(LimitError, match="give one of them a name"):
        made()


def test_equal_limits_of_one_name_are_one() -> None:
    app = FastAPI()
    app.add_middleware(FromFastAPI)
    limits = [Depends(RateLimit("3/day", name="api")), Depends(RateLimit("3/day", name="api"))]
    app.get("/", dependencies=limits)(lambda: "hello")
    client = TestClient(app)
    assert [client.get("/").status_code for _ in range(4)] == [200, 200, 200, 429]


@pytest.mark.parametrize(
    "made",
    [
        lambda: RateLimitMiddleware(hello, limiter=None),  # type: ignore[arg-type]
        lambda: FromFastAPI(hello, limiter=None),  # type: ignore[arg-type]
        lambda: RateLimit("9/day", limiter=None),  # type: ignore[arg-type]
        lambda: MessageLimit("9/day", limiter=None),  # type: ignore[arg-type]
        lambda: FlaskRateLimit(Flask("shop"), limiter=None),  # type: ignore[arg-type]
    ],
)
def test_a_variable_that_is_not_set_is_no_memory(made: Any) -> None:
    with pytest.raises(LimitError, match=r"limiter must be .*leave it out, or give 'memory://'.*, got None"):
        made()


def test_a_setting_that_is_not_set_is_no_memory() -> None:
    app = Flask("shop")
    app.config["TIDEGATE_LIMITER"] = None
    with pytest.raises(LimitError, match="limiter must be"):
        FlaskRateLimit(app)
    with override_settings(TIDEGATE={"default": {"LOCATION": None}}), pytest.raises(LimitError, match="LOCATION"):
        limiter()


async def user(x_user: Annotated[str, Header()]) -> str:
    return x_user


def test_all_options_beside_a_dependency_for_the_key() -> None:
    """Some of them as coroutine functions: the user of a dependency, and what a database says of it."""
    plans = {"ada": "2/day", "eve": "1/day"}

    async def limits(request: Request) -> str | None:
        await asyncio.sleep(0)
        return plans.get(request.headers["x-user"])

    async def later(_request: Request) -> int:
        return 1

    async def skip(request: Request) -> bool:
        return request.headers["x-user"] == "root"

    for options in (
        {"limits": limits, "skip": skip},
        {"limits": limits, "cost": later, "factor": later},
        {"limits": "2/day", "skip": lambda request: request.headers["x-user"] == "root"},
    ):
        app = FastAPI()
        app.add_middleware(FromFastAPI)
        app.get("/", dependencies=[Depends(RateLimit(**options, key=Depends(user)))])(lambda: "hello")
        client = TestClient(app)
        statuses = {
            name: [client.get("/", headers={"X-User": name}).status_code for _ in range(3)] for name in ("ada", "root")
        }
        assert statuses == {"ada": [200, 200, 429], "root": [200, 200, 200]}


def test_an_endpoint_returns_its_answer() -> None:
    app = FastAPI()
    app.add_middleware(FromFastAPI)

    @app.get("/")
    async def left(info: Annotated[LimitInfo, Depends(RateLimit("3/day"))]):  # type: ignore[no-untyped-def]
        return {"answer": info}

    answer = TestClient(app).get("/").json()["answer"]
    assert (answer["remaining"], answer["blocked"]) == (2, False)


def test_a_predicate_reads_the_status_as_frameworks_name_it() -> None:
    app = FastAPI()
    app.add_middleware(FromFastAPI)
    limit = RateLimit("1/day", charge_on=lambda response: response.status_code == 401)
    app.get("/{status}", dependencies=[Depends(limit)])(lambda status: JSONResponse({}, int(status)))
    client = TestClient(app)
    assert [client.get(f"/{status}").status_code for status in (200, 200, 401, 200)] == [200, 200, 401, 429]


@pytest.mark.usefixtures("site")
def test_an_async_key_of_django() -> None:
    async def key(request: Any) -> str:
        await asyncio.sleep(0)
        return str(request.GET["user"])

    @rate_limit(Bucket("one", size=1, drip_rate=86_400_000), key=key)
    async def view(_request: Any) -> HttpResponse:
        return HttpResponse("hello")

    urlpatterns[:] = [path("", view)]
    assert [DjangoClient().get("/?user=ada").status_code for _ in range(2)] == [200, 429]

    async def ask() -> Any:
        return await AsyncClient().get("/?user=ada")

    assert asyncio.run(ask()).status_code == 429
    with pytest.raises(LimitError, match="a coroutine function needs an async view"):
        rate_limit("1/day", key=key)(key_of)
    with pytest.raises(LimitError, match="a coroutine function needs an async view"):
        rate_limit("1/day", key=key)(type("Sync", (View,), {"get": lambda _self, _request: None}))

    class Later(View):  # type: ignore[misc]
        async def get(self, _request: Any) -> HttpResponse:
            return HttpResponse("hello")

    assert rate_limit("1/day", key=key)(Later) is Later


def test_a_function_that_waits_where_there_is_no_event_loop() -> None:
    """It is no coroutine function itself, so nobody could tell before."""

    async def later(seconds: float | None) -> str:
        if seconds is not None:
            await asyncio.sleep(seconds)
        return "ada"

    app = Flask("shop")
    app.testing = True
    limits = FlaskRateLimit(app)
    app.get("/there")(limits.limit("1/day", key=lambda _request: later(None))(lambda: g.rate_limit.actor))
    app.get("/later", endpoint="later")(limits.limit("1/day", key=lambda _request: later(0))(lambda: "never"))
    assert app.test_client().get("/there").text == "ada"
    with pytest.raises(RuntimeError, match="waits for an event loop"):
        app.test_client().get("/later")


def test_a_method_needs_its_own_decorator() -> None:
    with pytest.raises(LimitError, match=r"got the method .*Shop\.get: put method_decorator"):

        class Shop(View):  # type: ignore[misc]
            @rate_limit("1/day")
            def get(self, _request: Any) -> HttpResponse:
                raise NotImplementedError

    class Right(View):  # type: ignore[misc]
        @method_decorator(rate_limit("1/day"))  # type: ignore[untyped-decorator]
        def get(self, _request: Any) -> HttpResponse:
            raise NotImplementedError


@pytest.mark.usefixtures("site")
def test_a_class_is_exempt_however_the_decorator_is_put_on_it() -> None:
    class Shop(View):  # type: ignore[misc]
        def get(self, _request: Any) -> HttpResponse:
            return HttpResponse("open")

    def made(*decorators: Any) -> Any:
        view: Any = type("Shop", (Shop,), {})
        for decorator in decorators:
            view = decorator(view)
        return view.as_view()

    limited, by_method = rate_limit("1/day"), method_decorator(exempt, name="dispatch")
    for decorators in [(limited, exempt), (exempt, limited), (limited, by_method), (by_method, limited), (by_method,)]:
        urlpatterns[:] = [path("", made(*decorators))]
        with override_settings(TIDEGATE={"LIMITS": "1/day"}):
            assert [DjangoClient().get("/").status_code for _ in range(3)] == [200, 200, 200], decorators


ONE = Bucket("one", size=1, drip_rate=86_400_000)


@pytest.mark.usefixtures("site")
def test_the_limiter_of_django_resets_a_client() -> None:
    urlpatterns[:] = [path("", rate_limit(ONE)(key_of))]
    assert [DjangoClient().get("/").status_code for _ in range(2)] == [200, 429]
    limiter().reset(ONE, client_of("127.0.0.1"))
    assert DjangoClient().get("/").status_code == 200
    asyncio.run(async_limiter().reset(ONE, client_of("127.0.0.1")))
    assert DjangoClient().get("/").status_code == 200


def run(*arguments: str, **options: Any) -> list[str]:
    shown = io.StringIO()
    call_command("tidegate", *arguments, stdout=shown, **options)
    return shown.getvalue().splitlines()


@pytest.mark.usefixtures("site")
def test_the_commands_of_django(redis: RedisServer) -> None:
    class Spent(RateLimitThrottle):
        limits = "5/day"

    view: Any = rate_limit("1/day")(key_of)
    view.cls = type("Throttled", (), {"throttle_classes": [Spent]})
    urlpatterns[:] = [path("users/<int:id>/", view)]
    store = {"LOCATION": redis.url, "OPTIONS": {"NAMESPACE": uuid4().hex, "TIMEOUT": 5}}
    with override_settings(TIDEGATE={"default": store, "LIMITS": "9/day"}):
        assert [DjangoClient().get("/users/7/").status_code for _ in range(2)] == [200, 429]
        assert run("ping")[-1].endswith("decides calls")
        listed = [line.split(" (")[0] for line in run("limits")]
        assert listed == ["/users/{id}/", '  "app"', '  "/users/{id}/"', '  "Spent"', "any other path", '  "app"']
        assert any(line.startswith('"/users/{id}/" would refuse this call') for line in run("status", "127.0.0.1"))
        shown = run("top", "--budget", "100000", "--count", "1")
        assert shown[1].split()[:4] == ["ip:127.0.0.1", "/users/{id}/", "0", "1"]
        assert shown[3].startswith("1 actor found, 1 of them denied now. Looked at ")
        with pytest.raises(CommandError, match="must be a whole number, at most 2\\^53, got '-1'"):
            run("top", "--budget=-1")
        with pytest.raises(CommandError, match="no limit has the key 'other'"):
            run("reset", "127.0.0.1", "--limit", "other")
        assert run("reset", "127.0.0.1", "--limit", "/users/{id}/") == ["1 limits of 127.0.0.1 are reset"]
        assert DjangoClient().get("/users/7/").status_code == 200
        assert run("clear", "--yes") == ["2 entries are removed"]
        assert DjangoClient().get("/users/7/").status_code == 200
    with override_settings(TIDEGATE={}), pytest.raises(CommandError, match="no command can reach"):
        run("status", "127.0.0.1")


def test_no_cache_grows_with_what_clients_send() -> None:
    """Limits, keys and shadow counts that a function makes of each request."""
    made = Limiter()
    client = Client(
        RateLimitMiddleware,
        limiter=made,
        limits=lambda request: {"key": request.path, "type": "bucket", "size": 5},
    )
    for number in range(11_000):
        client.ask(f"/{number}")
    room = client.app.room
    assert len(room.known) <= 1
    assert client.app.guard._choices.cache_info().currsize <= 1024
