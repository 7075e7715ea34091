"""The scenarios that every framework of every language plays, over its own server."""

from __future__ import annotations

import importlib
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import flask
import pytest
import uvicorn
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, HttpResponseRedirect
from django.test import override_settings
from django.urls import path as url
from fastapi import Depends, FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from werkzeug.serving import make_server

import tidegate.flask
from serving import ask
from tidegate import Limiter, LimitInfo
from tidegate.asgi import RateLimitMiddleware
from tidegate.fastapi import RateLimit
from tidegate.testing import use_limiter

APPS = Path(__file__).parent / "apps"
sys.path.insert(0, str(APPS))
# Its settings, of which each scenario has its own.
importlib.import_module("site_of_django")

SCENARIOS = json.loads((Path(__file__).parents[2] / "vectors/web.json").read_text())["scenarios"]

Player = Callable[[Limiter, "Scenario"], Any]


class Scenario:
    """The options of a scenario as Python has them: ``{"header": …}`` stands for a function that reads it."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        options = {
            "".join(f"_{c.lower()}" if c.isupper() else c for c in name): value
            for name, value in given.get("options", {}).items()
        }
        limits = given["limits"]
        if "choices" in limits:
            header, choices = limits["header"], limits["choices"]
            limits = lambda request: choices.get(request.headers.get(header))  # noqa: E731
        for name, convert in {"key": str, "cost": int, "factor": float, "skip": bool}.items():
            if name in options:
                options[name] = reading(options[name]["header"], convert, {"cost": 1, "factor": 1.0}.get(name))
        self.limits, self.options, self.route = limits, options, given.get("route")


def reading(header: str, convert: Callable[[str], Any], otherwise: Any) -> Callable[[Any], Any]:
    """A function of a request that reads a header."""

    def read(request: Any) -> Any:
        value = request.headers.get(header)
        return otherwise if value is None else convert(value)

    return read


def status_of(path: str, query: str) -> int:
    """The status of a route that all applications have."""
    return {"/error": 500, "/login": 200 if "password" in query else 401}.get(path, 200)


@contextmanager
def over_uvicorn(app: Any) -> Iterator[int]:
    """An ASGI application over a server in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", proxy_headers=False, lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.001)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def over_werkzeug(app: Any) -> Iterator[int]:
    """A WSGI application over a server in a thread."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def serve(request: Request) -> Response:
    """The routes of Starlette and FastAPI."""
    if request.url.path == "/redirect":
        return RedirectResponse("/", 302)
    return PlainTextResponse("", status_of(request.url.path, request.url.query))


def starlette(limiter: Limiter, scenario: Scenario) -> Any:
    app = Starlette(routes=[Route("/{path:path}", serve)])
    app.add_middleware(RateLimitMiddleware, limiter=limiter, limits=scenario.limits, **scenario.options)
    return over_uvicorn(app)


def fastapi(limiter: Limiter, scenario: Scenario) -> Any:
    app = FastAPI()
    app.add_middleware(RateLimitMiddleware, limiter=limiter, limits=scenario.limits, **scenario.options)
    if scenario.route is not None:
        app.get("/route", dependencies=[Depends(RateLimit(scenario.route))])(serve)
    app.get("/{path:path}")(serve)
    return over_uvicorn(app)


def flask_app(limiter: Limiter, scenario: Scenario) -> Any:
    app = flask.Flask(__name__)
    limit = tidegate.flask.RateLimit(app, limiter, default=scenario.limits, **scenario.options)

    def answer(path: str = "") -> Any:
        if path == "redirect":
            return flask.redirect("/")
        return "", status_of(f"/{path}", flask.request.query_string.decode())

    if scenario.route is not None:
        app.get("/route")(limit.limit(scenario.route)(lambda: ""))
    app.get("/", endpoint="top")(answer)
    app.get("/<path:path>", endpoint="any")(answer)
    return over_werkzeug(app)


def django_app(serving: Callable[[], Any]) -> Player:
    @contextmanager
    def play(limiter: Limiter, scenario: Scenario) -> Iterator[int]:
        def answer(request: Any, path: str = "") -> Any:
            if path == "redirect":
                return HttpResponseRedirect("/")
            return HttpResponse(status=status_of(f"/{path}", request.META.get("QUERY_STRING", "")))

        routes = type("Urls", (), {"urlpatterns": [url("", answer), url("<path:path>", answer)]})
        options = {name.upper(): value for name, value in scenario.options.items()}
        settings = {"default": {"LOCATION": "memory://"}, "LIMITS": scenario.limits, **options}
        middleware = ["tidegate.django.RateLimitMiddleware"]
        made = override_settings(TIDEGATE=settings, ROOT_URLCONF=routes, MIDDLEWARE=middleware)
        with made, use_limiter(limiter), serving() as port:
            yield port

    return play


PLAYERS: dict[str, Player] = {
    "starlette": starlette,
    "fastapi": fastapi,
    "flask": flask_app,
    "django-wsgi": django_app(lambda: over_werkzeug(get_wsgi_application())),
    "django-asgi": django_app(lambda: over_uvicorn(get_asgi_application())),
}
# Where a framework has no routes, or they say no methods.
LACKS = {"starlette": ["routes"], "django-wsgi": ["routes"], "django-asgi": ["routes"]}


def used(info: LimitInfo) -> int:
    return info.quota - info.remaining


@pytest.mark.parametrize("framework", PLAYERS)
@pytest.mark.parametrize("given", SCENARIOS, ids=lambda given: given["name"])
def test_scenario(framework: str, given: dict[str, Any]) -> None:
    if given.get("needs") in LACKS.get(framework, []):
        return
    limiter = Limiter()
    with PLAYERS[framework](limiter, Scenario(given)) as port:
        for index, asked in enumerate(given["requests"]):
            answer = ask(port, asked["path"], **asked.get("headers", {}))
            assert answer.status == asked["status"], index
            for name, value in asked.get("has", {}).items():
                got = answer.headers.get(name)
                if isinstance(value, list):
                    assert value[0] <= float(got or -1) <= value[1], (index, name)
                else:
                    assert got == value, (index, name)
            for name, value in asked.get("body", {}).items():
                assert json.loads(answer.body)[name] == value, (index, name)
    for limit, actor, units in given.get("used", []):
        assert used(limiter.peek(limit, actor)) == units, (limit["key"], actor)
