"""FastAPI's dependency and its middleware over real HTTP."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from server import RedisServer
from serving import Answer, Served, workers
from tidegate import parse_headers

APPS = Path(__file__).parent / "apps"


@pytest.fixture(scope="module")
def app(store: str) -> Iterator[Served]:
    with Served.uvicorn("fast:app", APPS, STORE=store) as server:
        yield server


@pytest.fixture
def key() -> str:
    """An actor of one test."""
    return uuid4().hex


def remaining(answer: Answer) -> dict[str | None, int | None]:
    """The units that remain of each policy."""
    return {policy.name: policy.remaining for policy in parse_headers(answer.headers).policies}


def test_limits_of_application_router_and_route_are_one_decision(app: Served, key: str) -> None:
    first = app.ask("/v1/items/1", x_api_key=key)
    assert (first.status, json.loads(first.body)["remaining"]) == (200, 2)
    route = "GET /v1/items/{item}"
    assert remaining(first) == {"all": 19, "v1": 9, route: 2}
    assert [app.ask(f"/v1/items/{item}", x_api_key=key).status for item in (2, 3, 4, 5)] == [200, 200, 429, 429]
    # The two that were denied have charged none of the three.
    assert remaining(app.ask("/v1/others/1", x_api_key=key))["all"] == 16


def test_routes_do_not_share(app: Served, key: str) -> None:
    for method, path, status in [
        ("GET", "/v1/items/1", 200),
        ("POST", "/v1/items/1", 201),
        ("GET", "/v1/others/1", 200),
        ("GET", "/again/v1/items/1", 200),
    ]:
        answer = app.ask(path, method, x_api_key=key)
        assert (answer.status, json.loads(answer.body)["remaining"]) == (status, 2)


def test_a_limit_behind_another_dependency(app: Served, key: str) -> None:
    answers = [app.ask("/v1/account", x_api_key=key) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert answers[1].body == b"0"
    # It is a decision of its own, and what the first one charged was given back.
    assert remaining(app.ask("/v1/items/1", x_api_key=key))["all"] == 17


def test_exempt_and_override(app: Served, key: str) -> None:
    free = [app.ask("/v1/health", x_api_key=key) for _ in range(12)]
    assert {answer.status for answer in free} == {200}
    assert "x-ratelimit-remaining" not in free[0].headers
    assert remaining(app.ask("/v1/bulk", x_api_key=key)) == {"GET /v1/bulk": 4}


@pytest.mark.parametrize(("path", "status"), [("/v1/stream", 200), ("/v1/fail/403", 403), ("/v1/fail/503", 503)])
def test_headers_are_on_every_response(app: Served, key: str, path: str, status: int) -> None:
    answer = app.ask(path, x_api_key=key)
    assert answer.status == status
    assert answer.headers["x-ratelimit-remaining"] == "2"


def test_a_refusal_once(app: Served, key: str) -> None:
    denied = [app.ask("/v1/items/1", x_api_key=key) for _ in range(4)][-1]
    assert denied.status == 429
    assert denied.headers["content-type"] == "application/problem+json"
    assert json.loads(denied.body)["violated-policies"] == ["GET /v1/items/{item}"]
    read = parse_headers(denied.headers)
    assert (read.remaining, len(read.policies)) == (0, 3)
    assert read.retry_after_ms is not None
    assert app.ask("/v1/items/1", x_api_key=key, accept="text/plain").body.startswith(b"Rate limit exceeded")


def test_settlement(app: Served, key: str) -> None:
    assert [remaining(app.ask("/v1/spend?used=10", x_api_key=key))["tokens"] for _ in range(3)] == [50, 40, 30]
    # The limits without a cost keep their one unit.
    assert remaining(app.ask("/v1/items/1", x_api_key=key))["all"] == 16


def test_a_response_of_its_own(app: Served, key: str) -> None:
    answers = [app.ask("/v1/own", x_api_key=key) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 418]
    assert json.loads(answers[1].body)["wait"] > 80_000


def test_websockets(app: Served, key: str) -> None:
    headers = {"X-Api-Key": key}
    for left in ("2", "1", "0"):
        with connect(f"ws://127.0.0.1:{app.port}/talk", additional_headers=headers) as socket:
            assert socket.recv(5) == left
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{app.port}/talk", additional_headers=headers)
    assert refused.value.response.status_code == 429


def test_the_openapi_document(app: Served) -> None:
    paths = json.loads(app.ask("/openapi.json").body)["paths"]
    refusal = paths["/v1/items/{item}"]["post"]["responses"]["429"]
    assert {"Retry-After", "X-RateLimit-Remaining", "RateLimit"} <= refusal["headers"].keys()
    assert "application/problem+json" in refusal["content"]
    assert "429" in paths["/again/v1/bulk"]["get"]["responses"]
    assert "429" not in paths["/v1/health"]["get"]["responses"]


def test_totals_are_exact_over_workers(redis: RedisServer, key: str) -> None:
    with Served.uvicorn("fast:app", APPS, "--workers", "2", STORE=redis.url) as server:
        workers(server, "/v1/health", 2)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: server.ask("/v1/items/1", x_api_key=key), range(30)))
        assert Counter(answer.status for answer in answers) == {200: 3, 429: 27}
        assert remaining(server.ask("/v1/others/1", x_api_key=key))["all"] == 16
