"""Flask's extension, in its test client and over real HTTP."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from flask import Blueprint, Flask, g
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from serving import Served
from tidegate import ConfigurationError, LimitError, parse_headers
from tidegate._http import forget_mistakes
from tidegate.flask import RateLimit, RateLimited, info

APPS = Path(__file__).parent / "apps"
sys.path.insert(0, str(APPS))

create_app: Any = importlib.import_module("flasky").create_app


@pytest.fixture
def key() -> str:
    """An actor of one test."""
    return uuid4().hex


class Client:
    """Requests of one actor."""

    def __init__(self, app: Flask, key: str) -> None:
        self.client = app.test_client()
        self.key = key

    def ask(self, path: str, method: str = "GET", **options: Any) -> TestResponse:
        return self.client.open(
            path, method=method, headers={"X-Api-Key": self.key, **options.pop("headers", {})}, **options
        )

    def statuses(self, path: str, count: int, method: str = "GET", **options: Any) -> list[int]:
        return [self.ask(path, method, **options).status_code for _ in range(count)]


@pytest.fixture
def client(store: str, key: str) -> Client:
    return Client(create_app(store), key)


def remaining(answer: TestResponse) -> dict[str | None, int | None]:
    """The units that remain of each policy."""
    return {policy.name: policy.remaining for policy in parse_headers(dict(answer.headers)).policies}


def test_limits_of_application_blueprint_and_view_are_one_decision(client: Client) -> None:
    first = client.ask("/v1/items/1")
    assert first.get_json() == {"item": 1, "remaining": 2}
    route = "GET /v1/items/{item}"
    assert remaining(first) == {"all": 19, "v1": 9, route: 2}
    assert [client.ask(f"/v1/items/{item}").status_code for item in (2, 3, 4, 5)] == [200, 200, 429, 429]
    # The two that were denied have charged none of the three.
    assert remaining(client.ask("/v1/fail/404"))["all"] == 16


def test_exempt_and_override(client: Client) -> None:
    free = [client.ask(path) for path in ("/v1/health", "/v1/health", "/free/")]
    assert {answer.status_code for answer in free} == {200}
    assert not any("x-ratelimit-remaining" in answer.headers for answer in free)
    assert remaining(client.ask("/v1/bulk")) == {"GET /v1/bulk": 4}
    assert client.statuses("/free/some", 3) == [200, 200, 429]
    assert remaining(client.ask("/v1/fail/404"))["all"] == 19


@pytest.mark.parametrize("status", [403, 500, 503])
def test_headers_are_on_errors(client: Client, status: int) -> None:
    answer = client.ask(f"/v1/fail/{status}")
    assert (answer.status_code, answer.headers["x-ratelimit-remaining"]) == (status, "9")


def test_what_has_no_route_is_limited_too(client: Client) -> None:
    answer = client.ask("/nowhere")
    assert (answer.status_code, remaining(answer)) == (404, {"all": 19})


def test_rules_without_a_view() -> None:
    app = Flask("shop")
    app.testing = True
    limits = RateLimit(app, default="6/day")
    shop = limits.limit("1/day")(Blueprint("shop", "shop", url_prefix="/shop"))
    shop.add_url_rule("/old", endpoint="old", redirect_to="/")
    app.register_blueprint(shop)
    app.add_url_rule("/old", endpoint="old", redirect_to="/")
    app.add_url_rule("/elsewhere", endpoint="elsewhere", build_only=True)
    app.add_url_rule("/forgotten", endpoint="forgotten")
    app.url_map.add(Rule("/older", redirect_to="/"))
    app.add_url_rule("/", view_func=lambda: "hello")
    with pytest.raises(KeyError, match="forgotten"):
        app.test_client().get("/forgotten")
    asked = [app.test_client().get(path) for path in ("/", "/old", "/shop/old", "/elsewhere", "/older", "/")]
    assert [answer.status_code for answer in asked] == [200, 308, 308, 404, 308, 429]


def test_automatic_options_and_static_files_are_not(client: Client) -> None:
    assert "x-ratelimit-remaining" not in client.ask("/v1/bulk", "OPTIONS").headers
    assert "x-ratelimit-remaining" not in client.ask("/static/none.css").headers


def test_refusals_by_accept(client: Client) -> None:
    assert client.statuses("/v1/async", 2) == [200, 200]
    for wanted, got in [
        ("*/*", "application/problem+json"),
        ("application/json", "application/json"),
        ("text/plain", "text/plain"),
    ]:
        answer = client.ask("/v1/async", headers={"Accept": wanted})
        assert (answer.status_code, answer.mimetype) == (429, got)
        assert len(answer.headers.getlist("Retry-After")) == len(answer.headers.getlist("X-RateLimit-Remaining")) == 1
        assert answer.headers["Cache-Control"] == "no-store"


def test_async_and_method_views(client: Client) -> None:
    assert client.statuses("/v1/async", 3) == [200, 200, 429]
    assert client.statuses("/v1/things", 2) == [200, 429]
    assert client.statuses("/v1/things", 3, "POST") == [200, 200, 429]
    # What the outer limits charged for the two that a method denied was given back.
    assert remaining(client.ask("/v1/fail/404"))["all"] == 14


def test_a_stream_is_settled_at_its_end(client: Client) -> None:
    first = client.ask("/v1/stream")
    assert (first.data, remaining(first)["tokens"]) == (b"xxx", 50)
    assert remaining(client.ask("/v1/stream"))["tokens"] == 47


def test_on_blocked_makes_the_response(client: Client) -> None:
    assert client.statuses("/v1/own", 1) == [200]
    answer = client.ask("/v1/own")
    assert (answer.status_code, answer.data[:4]) == (503, b"wait")
    assert answer.headers["x-ratelimit-remaining"] == "0"


@pytest.mark.parametrize("handled", [429, RateLimited])
def test_handlers_make_the_response(handled: Any) -> None:
    app = Flask(__name__)
    RateLimit(app, default="1/day")

    @app.errorhandler(handled)
    def slow_down(error: RateLimited) -> tuple[str, int]:
        return f"in {error.retry_after} s, {error.info.quota}", 429

    app.add_url_rule("/", view_func=lambda: str(g.rate_limit is info()))
    client = Client(app, "")
    assert client.ask("/").data == b"True"
    answer = client.ask("/")
    assert (answer.status_code, answer.data) == (429, b"in 86400 s, 1")
    assert answer.headers["retry-after"] == "86400"


def test_configuration(told: Any) -> None:
    forget_mistakes()
    app = Flask(__name__)
    app.config.update(TIDEGATE_DEFAULT="5/day", TIDEGATE_HEADERS="common", TIDEGATE_STATUS=503)
    RateLimit(default="1/day").init_app(app)
    app.add_url_rule("/", view_func=lambda: "hello")
    client = Client(app, "")
    several = {"wsgi.multiprocess": True}
    assert client.statuses("/", 2, environ_overrides=several) == [200, 503]
    assert "X-RateLimit-Reset" in client.ask("/").headers
    assert told() == ["memory-many-workers"]


def test_clients_behind_proxies() -> None:
    def served(**options: Any) -> list[int]:
        app = Flask(__name__)
        RateLimit(app, default="1/day", silence="forwarded-not-trusted", **options)
        app.add_url_rule("/", view_func=lambda: "hello")
        if "trusted_proxies" not in options:
            app.wsgi_app = ProxyFix(app.wsgi_app)  # type: ignore[method-assign]
        client = Client(app, "")
        # What is no address is the limit of the proxy that wrote it.
        sent = ("9.9.9.9", "8.8.8.8", "9.9.9.9", "foo", "unknown", '"', "7.7.7.7")
        return [client.ask("/", headers={"X-Forwarded-For": client_}).status_code for client_ in sent]

    assert served(trusted_proxies=1) == [200, 200, 429, 200, 429, 429, 200]
    assert served() == [200, 200, 429, 200, 429, 429, 200]


def test_mistakes_are_told_at_once() -> None:
    app = Flask(__name__)
    limiter = RateLimit(app)
    with pytest.raises(ConfigurationError, match="has a RateLimit already"):
        RateLimit(app)
    with pytest.raises(LimitError, match="must have a count"):
        limiter.limit("often")
    with pytest.raises(LimitError, match="key must be a function of the request or one of ip, header:NAME, got 'user'"):
        limiter.limit("1/day", key="user")
    with pytest.raises(LimitError, match="key needs limits beside it"):
        RateLimit(Flask(__name__), key="ip")
    with pytest.raises(LimitError, match="burst is not an option"):
        RateLimit(Flask(__name__), burst=3)  # type: ignore[call-arg]
    with pytest.raises(LimitError, match=r"limits is not an option \(did you mean default\?\)"):
        RateLimit(Flask(__name__), limits="1/day")  # type: ignore[call-arg]
    with pytest.raises(LimitError, match="app must be a Flask application, got str") as caught:
        RateLimit("redis://:hush@localhost")  # type: ignore[arg-type]
    assert "hush" not in repr(vars(caught.value))

    async def who(_request: object) -> str:
        return "ada"

    with pytest.raises(LimitError, match="coroutine function"):
        limiter.limit("1/day", key=who)


def test_outside_of_requests_functions_are_called() -> None:
    assert RateLimit().limit("1/day")(lambda: "called")() == "called"


@pytest.fixture(scope="module")
def served(store: str) -> Iterator[Served]:
    command = [sys.executable, "-m", "flask", "--app", "flasky", "run", "--port", "{port}"]
    with Served(*command, folder=APPS, STORE=store) as server:
        yield server


def test_over_http(served: Served, key: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: served.ask("/v1/bulk", x_api_key=key), range(12)))
    assert Counter(answer.status for answer in answers) == {200: 5, 429: 7}
    assert all("x-ratelimit-remaining" in answer.headers for answer in answers)
    assert served.ask("/v1/stream", x_api_key=key).body == b"xxx"
