"""The scenarios that every framework of every language plays, over its own server."""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import flask
import litestar as litestar_of
import pytest
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.test import override_settings
from django.urls import path as url
from fastapi import APIRouter, Depends, FastAPI
from litestar import HttpMethod, Litestar, Router, route
from litestar.response import Redirect, Stream
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

import tidegate.flask
from serving import PATIENCE, Answer, ask, check_used, going_on, opened, over_uvicorn, over_werkzeug, writing_on
from tidegate import Limiter
from tidegate._http import forget_mistakes
from tidegate.asgi import RateLimitMiddleware
from tidegate.fastapi import RateLimit
from tidegate.testing import use_limiter

APPS = Path(__file__).parent / "apps"
sys.path.insert(0, str(APPS))
# Its settings, of which each scenario has its own; what is imported below needs them.
importlib.import_module("site_of_django")

from rest_framework.views import APIView  # noqa: E402

from tidegate.django import rate_limit  # noqa: E402
from tidegate.drf import RateLimitThrottle  # noqa: E402

SCENARIOS = json.loads((Path(__file__).parents[2] / "vectors/web.json").read_text())["scenarios"]

Player = Callable[[Limiter, "Scenario"], Any]


class Place:
    """Limits and their options as Python has them: ``{"header": …}`` stands for a function that reads it."""

    def __init__(self, limits: Any, options: dict[str, Any]) -> None:
        named = {"".join(f"_{c.lower()}" if c.isupper() else c for c in name): one for name, one in options.items()}
        if "choices" in limits:
            header, choices = limits["header"], limits["choices"]
            limits = lambda request: choices.get(request.headers.get(header))  # noqa: E731
        for name, convert in {"key": str, "cost": int, "factor": float, "skip": bool}.items():
            if name in named:
                named[name] = reading(named[name]["header"], convert, {"cost": 1, "factor": 1.0}.get(name))
        self.limits, self.options = limits, named

    @classmethod
    def of(cls, given: dict[str, Any] | None) -> Place | None:
        """The place of a router or a route, which has its options beside its limits."""
        if given is None:
            return None
        return cls(given["limits"], {name: one for name, one in given.items() if name != "limits"})


class Scenario(Place):
    """The limits of an application, and of its places: ``/items/{id}``, and all that is under ``/shop``."""

    def __init__(self, given: dict[str, Any]) -> None:
        super().__init__(given["limits"], given.get("options", {}))
        self.item, self.router = Place.of(given.get("item")), Place.of(given.get("router"))


def reading(header: str, convert: Callable[[str], Any], otherwise: Any) -> Callable[[Any], Any]:
    """A function of a request that reads a header."""

    def read(request: Any) -> Any:
        value = request.headers.get(header)
        return otherwise if value is None else convert(value)

    return read


def status_of(path: str, query: str) -> int:
    """The status of a route that all applications have."""
    if path.endswith("/login"):
        return 200 if "password" in query else 401
    return 500 if path == "/error" else 200


async def serve(request: Request) -> Response:
    """The routes of Starlette and FastAPI."""
    if request.url.path == "/redirect":
        return RedirectResponse("/", 302)
    if request.url.path == "/open":
        return StreamingResponse(going_on())
    return PlainTextResponse("", status_of(request.url.path, request.url.query))


METHODS = ["GET", "HEAD", "POST"]


def starlette(limiter: Limiter, scenario: Scenario) -> Any:
    def limited(place: Place | None) -> list[Any]:
        if place is None:
            return []
        return [Middleware(RateLimitMiddleware, limiter=limiter, limits=place.limits, **place.options)]

    def item() -> Route:
        return Route("/items/{id}", serve, methods=METHODS, middleware=limited(scenario.item))

    rest = Route("/{path:path}", serve, methods=METHODS)
    shop = Mount("/shop", routes=[item(), rest], middleware=limited(scenario.router))
    return over_uvicorn(Starlette(routes=[item(), shop, rest], middleware=limited(scenario)))


def fastapi(limiter: Limiter, scenario: Scenario) -> Any:
    def limited(place: Place | None) -> list[Any]:
        return [] if place is None else [Depends(RateLimit(place.limits, **place.options))]

    app, shop = FastAPI(), APIRouter(prefix="/shop", dependencies=limited(scenario.router))
    app.add_middleware(RateLimitMiddleware, limiter=limiter, limits=scenario.limits, **scenario.options)
    for routes in (app, shop):
        for methods in (["GET", "HEAD"], ["POST"]):
            routes.api_route("/items/{id}", methods=methods, dependencies=limited(scenario.item))(serve)
    shop.get("/cart")(serve)
    app.include_router(shop)
    app.api_route("/{path:path}", methods=METHODS)(serve)
    return over_uvicorn(app)


def litestar(limiter: Limiter, scenario: Scenario) -> Any:
    def limited(place: Place | None) -> list[Any]:
        # A function, because Litestar copies the arguments of a class, and a limiter in memory cannot be copied.
        made = partial(RateLimitMiddleware, limiter=limiter)
        return [] if place is None else [lambda app: made(app, limits=place.limits, **place.options)]

    async def answer(request: litestar_of.Request[Any, Any, Any]) -> litestar_of.Response[Any]:
        path = request.url.path
        if path == "/redirect":
            return Redirect("/", status_code=302)
        if path == "/open":
            return Stream(going_on())
        return litestar_of.Response("", status_code=status_of(path, request.url.query))

    def handler(path: str, place: Place | None = None) -> Any:
        methods: Any = [HttpMethod.GET, HttpMethod.HEAD, HttpMethod.POST]
        return route(path, http_method=methods, middleware=limited(place), status_code=200)(answer)

    def items() -> Any:
        return handler("/items/{id:str}", scenario.item)

    shop = Router("/shop", route_handlers=[items(), handler("/cart")], middleware=limited(scenario.router))
    rest = [handler(path) for path in ("/", "/redirect", "/open", "/error", "/login")]
    options: dict[str, Any] = {"openapi_config": None, "logging_config": None}
    return over_uvicorn(Litestar([items(), shop, *rest], middleware=limited(scenario), **options))


def flask_app(limiter: Limiter, scenario: Scenario) -> Any:
    app, shop = flask.Flask(__name__), flask.Blueprint("shop", __name__, url_prefix="/shop")
    limit = tidegate.flask.RateLimit(app, limiter, default=scenario.limits, **scenario.options)

    def limited(place: Place | None, thing: Any) -> Any:
        return thing if place is None else limit.limit(place.limits, **place.options)(thing)

    def answer(**_parts: str) -> Any:
        path = flask.request.path
        if path == "/redirect":
            return flask.redirect("/")
        if path == "/open":
            return flask.Response(writing_on())
        return "", status_of(path, flask.request.query_string.decode())

    def view() -> Any:
        return lambda **parts: answer(**parts)

    for routes in (app, shop):
        for method in ("GET", "POST"):
            options: dict[str, Any] = {"endpoint": f"item_{method}", "methods": [method]}
            routes.add_url_rule("/items/<id>", view_func=limited(scenario.item, view()), **options)
    shop.add_url_rule("/cart", view_func=answer, endpoint="cart")
    app.register_blueprint(limited(scenario.router, shop))
    for path in ("/", "/<path:path>"):
        app.add_url_rule(path, view_func=answer, endpoint=path.strip("/<:>") or "top", methods=["GET", "POST"])
    return over_werkzeug(app)


def django_app(
    serving: Callable[[], Any], stream: Callable[[], Any], limited: Callable[[Any, Sequence[Place]], Any]
) -> Player:
    @contextmanager
    def play(limiter: Limiter, scenario: Scenario) -> Iterator[int]:
        def answer(request: Any, **_parts: str) -> Any:
            path = request.path
            if path == "/redirect":
                return HttpResponseRedirect("/")
            if path == "/open":
                return StreamingHttpResponse(stream())
            return HttpResponse(status=status_of(path, request.META.get("QUERY_STRING", "")))

        item, router = ([] if place is None else [place] for place in (scenario.item, scenario.router))
        views = {
            "items/<id>": limited(answer, item),
            "shop/items/<id>": limited(answer, [*router, *item]),
            "shop/cart": limited(answer, router),
        }
        patterns = [url(path, view) for path, view in {**views, "": answer, "<path:path>": answer}.items()]
        options = {name.upper(): value for name, value in scenario.options.items()}
        settings = {"default": {"LOCATION": "memory://"}, "LIMITS": scenario.limits, **options}
        middleware = ["tidegate.django.RateLimitMiddleware"]
        urls = type("Urls", (), {"urlpatterns": patterns})
        made = override_settings(TIDEGATE=settings, ROOT_URLCONF=urls, MIDDLEWARE=middleware)
        with made, use_limiter(limiter), serving() as port:
            yield port

    return play


def decorated(view: Any, places: Sequence[Place]) -> Any:
    """A view of Django behind a decorator for each place, the outermost first."""
    for place in reversed(places):
        view = rate_limit(place.limits, **place.options)(view)
    return view


def throttled(view: Any, places: Sequence[Place]) -> Any:
    """The same as a view of REST framework, with a throttle for each place."""
    if not places:
        return view
    fields = ({"key": "ip", "limits": place.limits, **place.options} for place in places)
    classes = [
        type(
            "Throttle",
            (RateLimitThrottle,),
            {name: staticmethod(one) if callable(one) else one for name, one in each.items()},
        )
        for each in fields
    ]
    handled = {method.lower(): lambda _self, request, **parts: view(request, **parts) for method in ("GET", "POST")}
    made: Any = type("View", (APIView,), {"throttle_classes": classes, **handled})
    return made.as_view()


def over_wsgi() -> Any:
    return over_werkzeug(get_wsgi_application())


PLAYERS: dict[str, Player] = {
    "starlette": starlette,
    "fastapi": fastapi,
    "litestar": litestar,
    "flask": flask_app,
    "django-wsgi": django_app(over_wsgi, writing_on, decorated),
    "django-asgi": django_app(lambda: over_uvicorn(get_asgi_application()), going_on, decorated),
    "django-rest": django_app(over_wsgi, writing_on, throttled),
}
# Middleware knows no routes, views of Django say no methods, and the texts of a throttle are named by its class.
LACKS = {
    "starlette": ["route names", "methods"],
    "litestar": ["route names", "methods"],
    "django-wsgi": ["route names", "methods"],
    "django-asgi": ["route names", "methods"],
    "django-rest": ["route names", "methods"],
}
PLAYED = [
    pytest.param(framework, given, id=f"{framework}: {given['name']}")
    for framework in PLAYERS
    for given in SCENARIOS
    if given.get("needs") not in LACKS.get(framework, [])
]


def asking(port: int, asked: dict[str, Any], opened_ones: dict[str, ExitStack]) -> Answer:
    """The response to a request, which is sent until it has its status."""
    until = time.monotonic() + PATIENCE
    while True:
        stack = ExitStack()
        if "open" in asked:
            answer = stack.enter_context(opened(port, asked["path"], **asked.get("headers", {})))
        else:
            answer = ask(
                port, asked["path"], asked.get("method", "GET"), peer=asked.get("peer"), **asked.get("headers", {})
            )
        if answer.status == asked["status"] or "until" not in asked or time.monotonic() > until:
            opened_ones[asked.get("open", "")] = stack
            return answer
        stack.close()


@pytest.mark.parametrize(("framework", "given"), PLAYED)
def test_scenario(framework: str, given: dict[str, Any], store: str, told: Callable[[], list[str]]) -> None:
    forget_mistakes()
    limiter = Limiter() if store == "memory://" else Limiter(store, namespace=uuid4().hex, timeout=10)
    going: dict[str, ExitStack] = {}
    with PLAYERS[framework](limiter, Scenario(given)) as port:
        try:
            for index, asked in enumerate(given["requests"]):
                if "leave" in asked:
                    going.pop(asked["leave"]).close()
                elif "path" in asked:
                    check(asking(port, asked, going), asked, index)
                check_used(limiter, asked.get("used", []))
        finally:
            for stack in going.values():
                stack.close()
    check_used(limiter, given.get("used", []))
    assert told() == given.get("mistakes", [])


def check(answer: Answer, asked: dict[str, Any], index: int) -> None:
    assert answer.status == asked["status"], index
    for name, value in asked.get("has", {}).items():
        got = answer.headers.get(name)
        if isinstance(value, list):
            assert value[0] <= float(got or -1) <= value[1], (index, name)
        else:
            assert got == value, (index, name)
    for name, value in asked.get("body", {}).items():
        assert json.loads(answer.body)[name] == value, (index, name)
