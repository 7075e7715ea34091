"""Claims of the pages about other libraries for Python, run with the libraries themselves."""

from __future__ import annotations

import asyncio
import importlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from fastapi import FastAPI, Request, Response
from fastapi.testclient import TestClient
from fastapi_limiter.identifier import default_identifier
from flask import Flask
from flask_limiter import Limiter as FlaskLimiter
from flask_limiter.util import get_remote_address as address_in_flask
from limits import parse
from slowapi import Limiter as SlowLimiter
from slowapi import _rate_limit_exceeded_handler as handler
from slowapi.errors import RateLimitExceeded
from slowapi.util import get_ipaddr, get_remote_address

sys.path.insert(0, str(Path(__file__).parent / "apps"))
importlib.import_module("site_of_django")

from django.core.cache import BaseCache  # noqa: E402
from django.core.cache.backends.db import DatabaseCache  # noqa: E402
from django.core.cache.backends.filebased import FileBasedCache  # noqa: E402
from django.core.cache.backends.redis import RedisCache  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.test import RequestFactory, override_settings  # noqa: E402
from django_ratelimit.core import get_usage  # noqa: E402
from django_ratelimit.decorators import ratelimit  # noqa: E402
from django_ratelimit.exceptions import Ratelimited  # noqa: E402
from rest_framework.throttling import BaseThrottle  # noqa: E402
from rest_framework.views import APIView  # noqa: E402

from server import RedisServer  # noqa: E402


def request_with(**headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "path": "/", "headers": raw, "client": ("192.0.2.1", 1)})


def test_slowapi_ignores_x_forwarded_for() -> None:
    """It looks for another name, with underscores."""
    request = request_with(x_forwarded_for="203.0.113.9")
    assert request.headers["X-Forwarded-For"] == "203.0.113.9"
    assert get_ipaddr(request) == get_remote_address(request) == "192.0.2.1"


def test_fastapi_limiter_takes_the_first_address_of_x_forwarded_for() -> None:
    request = request_with(x_forwarded_for="203.0.113.9, 198.51.100.7")
    assert asyncio.run(default_identifier(request)) == "203.0.113.9:/"


def test_slowapi_charges_the_limits_before_the_one_that_denies() -> None:
    limiter = SlowLimiter(key_func=get_remote_address)
    app = FastAPI()
    app.state.limiter = limiter
    app.add_exception_handler(RateLimitExceeded, handler)  # type: ignore[arg-type]

    @app.get("/")
    @limiter.limit("1/hour")
    @limiter.limit("9/day")
    async def view(request: Request, response: Response) -> str:  # noqa: ARG001
        return "hello"

    with TestClient(app) as client:
        assert [client.get("/").status_code for _ in range(3)] == [200, 429, 429]
    left = limiter.limiter.get_window_stats(parse("9/day"), "testclient", "/").remaining
    assert left == 6


def test_flask_limiter_charges_the_limits_before_the_one_that_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a call of its storage for each, and two more for the headers; a refused one is counted, too."""
    app = Flask(__name__)
    limiter = FlaskLimiter(address_in_flask, app=app, storage_uri="memory://", headers_enabled=True)

    @app.get("/")
    @limiter.limit("5/minute; 2/hour")
    def view() -> str:
        return "hello"

    storage: Any = limiter.storage
    calls = {name: Mock(wraps=getattr(storage, name)) for name in ("incr", "get", "get_expiry")}
    for name, call in calls.items():
        monkeypatch.setattr(storage, name, call)
    client = app.test_client()
    answers = [client.get("/") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
    assert "text/html" in answers[3].headers["content-type"]
    incr, get, get_expiry = (call.call_count for call in calls.values())
    assert incr == 2 * 4
    # Each `incr` of this storage calls `get` too.
    assert get - incr + get_expiry == 2 * 4
    assert storage.get(parse("5/minute").key_for("127.0.0.1", "view")) == 4
    assert storage.get(parse("2/hour").key_for("127.0.0.1", "view")) == 4


def test_django_ratelimit_counts_exactly_over_redis(redis: RedisServer) -> None:
    cache = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": redis.url}
    request = RequestFactory().get("/")
    group = uuid4().hex

    def count(_: int) -> int:
        usage = get_usage(request, group=group, key="ip", rate="10/d", increment=True)
        assert usage is not None
        return int(usage["count"])

    with override_settings(CACHES={"default": cache}), ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(count, range(200))) == list(range(1, 201))
    # With the caches in files and in a database, one step reads and another one writes.
    assert FileBasedCache.incr is DatabaseCache.incr is BaseCache.incr is not RedisCache.incr


def test_django_ratelimit_charges_the_decorator_before_the_one_that_denies() -> None:
    group, request = uuid4().hex, RequestFactory().get("/")

    def answer(_request: Any) -> HttpResponse:
        return HttpResponse()

    inner = ratelimit(group=f"{group} inner", key="ip", rate="1/d")(answer)
    view = ratelimit(group=group, key="ip", rate="9/d")(inner)
    cache = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    with override_settings(CACHES={"default": cache}):
        view(request)
        with pytest.raises(Ratelimited):
            view(request)
        usage = get_usage(request, group=group, key="ip", rate="9/d")
    assert usage is not None
    assert usage["count"] == 2


def test_rest_framework_charges_every_throttle() -> None:
    """Those behind the one that denies, too."""
    asked = []

    class Throttle(BaseThrottle):  # type: ignore[misc]
        name = ""
        admits = True

        def allow_request(self, request: Any, view: Any) -> bool:  # noqa: ARG002
            asked.append(self.name)
            return self.admits

    first = type("First", (Throttle,), {"name": "first"})
    second = type("Second", (Throttle,), {"name": "second", "admits": False})
    third = type("Third", (Throttle,), {"name": "third"})

    class View(APIView):  # type: ignore[misc]
        throttle_classes = (first, second, third)
        authentication_classes = ()
        permission_classes = ()

        def get(self, request: Any) -> HttpResponse:  # noqa: ARG002
            return HttpResponse()

    assert View.as_view()(RequestFactory().get("/")).status_code == 429
    assert asked == ["first", "second", "third"]


def test_rest_framework_takes_all_of_x_forwarded_for_as_a_name() -> None:
    request = RequestFactory().get("/", headers={"x-forwarded-for": "203.0.113.9, 198.51.100.7"})
    assert BaseThrottle().get_ident(request) == "203.0.113.9,198.51.100.7"
