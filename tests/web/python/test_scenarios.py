"""The scenarios that every framework of every language plays, over its own server."""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import flask
import pytest
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.test import override_settings
from django.urls import path as url
from fastapi import Depends, FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

import tidegate.flask
from serving import PATIENCE, Answer, ask, check_used, going_on, opened, over_uvicorn, over_werkzeug, writing_on
from tidegate import Limiter
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


async def serve(request: Request) -> Response:
    """The routes of Starlette and FastAPI."""
    if request.url.path == "/redirect":
        return RedirectResponse("/", 302)
    if request.url.path == "/open":
        return StreamingResponse(going_on())
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
        if path == "open":
            return flask.Response(writing_on())
        return "", status_of(f"/{path}", flask.request.query_string.decode())

    if scenario.route is not None:
        app.get("/route")(limit.limit(scenario.route)(lambda: ""))
    app.get("/", endpoint="top")(answer)
    app.get("/<path:path>", endpoint="any")(answer)
    return over_werkzeug(app)


def django_app(serving: Callable[[], Any], stream: Callable[[], Any]) -> Player:
    @contextmanager
    def play(limiter: Limiter, scenario: Scenario) -> Iterator[int]:
        def answer(request: Any, path: str = "") -> Any:
            if path == "redirect":
                return HttpResponseRedirect("/")
            if path == "open":
                return StreamingHttpResponse(stream())
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
    "django-wsgi": django_app(lambda: over_werkzeug(get_wsgi_application()), writing_on),
    "django-asgi": django_app(lambda: over_uvicorn(get_asgi_application()), going_on),
}
# Where a framework has no routes, or they say no methods.
LACKS = {"starlette": ["routes"], "django-wsgi": ["routes"], "django-asgi": ["routes"]}


def asking(port: int, asked: dict[str, Any], opened_ones: dict[str, ExitStack]) -> Answer:
    """The response to a request, which is sent until it has its status."""
    until = time.monotonic() + PATIENCE
    while True:
        stack = ExitStack()
        if "open" in asked:
            answer = stack.enter_context(opened(port, asked["path"], **asked.get("headers", {})))
        else:
            answer = ask(port, asked["path"], **asked.get("headers", {}))
        if answer.status == asked["status"] or "until" not in asked or time.monotonic() > until:
            opened_ones[asked.get("open", "")] = stack
            return answer
        stack.close()


@pytest.mark.parametrize("framework", PLAYERS)
@pytest.mark.parametrize("given", SCENARIOS, ids=lambda given: given["name"])
def test_scenario(framework: str, given: dict[str, Any]) -> None:
    if given.get("needs") in LACKS.get(framework, []):
        return
    limiter = Limiter()
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
