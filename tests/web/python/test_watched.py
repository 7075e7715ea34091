"""A document that changes while requests run, over real HTTP, in frameworks of each kind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from fastapi import Depends, FastAPI
from flask import Flask

from serving import Answer, ask, over_uvicorn, over_werkzeug
from tidegate import LimitError, Limits, LimitsError, WatchedLimits, parse_headers
from tidegate.asgi import RateLimitMiddleware
from tidegate.fastapi import RateLimit
from tidegate.fastapi import RateLimitMiddleware as FastAPIMiddleware
from tidegate.flask import RateLimit as FlaskRateLimit

DOCUMENT = """
api = { type = "bucket", size = 3, dripRate = 3600000 }

[[overrides]]
actor = "acme"
limit = "api"
definition = { type = "sliding-log", max = 5, period = 3600000 }

[[overrides]]
pattern = "team-*"
factor = 0.5

[[overrides]]
actor = "monitor"
unlimited = true
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "limits.toml"
    file.write_text(DOCUMENT)
    return file


@pytest.fixture
def limits(path: Path) -> Iterator[WatchedLimits]:
    with Limits.watch(path, every=3600) as watched:
        yield watched


def fastapi(limits: Any) -> AbstractContextManager[int]:
    app = FastAPI(dependencies=[Depends(RateLimit(limits, key="header:x-api-key"))])
    app.add_middleware(FastAPIMiddleware, headers="both")
    app.add_api_route("/", lambda: "welcome")
    return over_uvicorn(app)


def asgi(limits: Any) -> AbstractContextManager[int]:
    app = FastAPI()
    app.add_api_route("/", lambda: "welcome")
    return over_uvicorn(RateLimitMiddleware(app, limits=limits, key="header:x-api-key", headers="both"))


def flask(limits: Any) -> AbstractContextManager[int]:
    app = Flask(__name__)
    FlaskRateLimit(app, default=limits, key="header:x-api-key", headers="both")
    app.add_url_rule("/", view_func=lambda: "welcome")
    return over_werkzeug(app)


SERVERS = [fastapi, asgi, flask]


def of(port: int, actor: str, count: int = 1) -> list[Answer]:
    return [ask(port, x_api_key=actor) for _ in range(count)]


def remaining(answer: Answer) -> dict[str | None, int | None]:
    return {policy.name: policy.remaining for policy in parse_headers(answer.headers).policies}


def admitted(port: int, actor: str, count: int = 12) -> int:
    return [answer.status for answer in of(port, actor, count)].count(200)


@pytest.mark.parametrize("serve", SERVERS)
@pytest.mark.parametrize("part", ["whole", "selected"])
def test_overrides_hold_for_the_actor_of_a_request(
    serve: Callable[[Any], AbstractContextManager[int]], part: str, limits: WatchedLimits
) -> None:
    with serve(limits if part == "whole" else limits.select("api")) as port:
        assert {actor: admitted(port, actor) for actor in ("ada", "acme", "team-7", "monitor")} == {
            "ada": 3,
            "acme": 5,
            "team-7": 6,
            "monitor": 12,
        }
        assert remaining(of(port, "bob")[0]) == {"api": 2}
        assert of(port, "acme")[0].status == 429


@pytest.mark.parametrize("serve", SERVERS)
def test_a_change_counts_from_the_next_request_on_and_a_mistake_never(
    serve: Callable[[Any], AbstractContextManager[int]], path: Path, limits: WatchedLimits
) -> None:
    with serve(limits) as port:
        assert admitted(port, "ada") == 3
        path.write_text("api = { type = 'bucket', size = 0 }")
        with pytest.raises(LimitsError):
            limits.reload()
        assert of(port, "ada")[0].status == 429
        path.write_text("api = { type = 'bucket', size = 5, dripRate = 3600000 }\nday = '100/day'")
        assert limits.reload()
        # What was used stays used.
        assert admitted(port, "ada") == 2
        assert remaining(of(port, "bob")[0]) == {"api": 4, "day": 99}
        path.write_text("")
        assert limits.reload()
        assert admitted(port, "ada") == 12


@pytest.mark.parametrize("serve", SERVERS)
def test_documents_change_while_requests_run(
    serve: Callable[[Any], AbstractContextManager[int]], path: Path, limits: WatchedLimits
) -> None:
    answers: list[Answer] = []
    with serve(limits) as port:
        askers = [threading.Thread(target=lambda: answers.extend(of(port, "monitor", 40))) for _ in range(4)]
        for asker in askers:
            asker.start()
        changes = 0
        while any(asker.is_alive() for asker in askers):
            changes += 1
            path.write_text(f"api = {{ type = 'bucket', size = {1000 + changes} }}" if changes % 3 else "api = [")
            try:
                limits.reload()
            except LimitsError:
                assert changes % 3 == 0
        assert changes > 3
    assert [answer.status for answer in answers] == [200] * 160


def test_a_document_that_nobody_watches_has_overrides_too(path: Path) -> None:
    with flask(Limits.load(path)) as port:
        assert (admitted(port, "ada"), admitted(port, "acme")) == (3, 5)


def test_numbers_are_checked_when_a_place_is_made(limits: WatchedLimits) -> None:
    with pytest.raises(LimitError, match="cost must be at most"):
        RateLimit(limits, cost=4)


def test_a_document_in_shadow_mode_denies_nobody(limits: WatchedLimits) -> None:
    app = Flask(__name__)
    FlaskRateLimit(app, default=limits, key="header:x-api-key", shadow=True)
    app.add_url_rule("/", view_func=lambda: "welcome")
    with over_werkzeug(app) as port:
        assert admitted(port, "ada") == 12


def test_units_that_a_document_lets_requests_hold_are_released(path: Path) -> None:
    path.write_text("jobs = { type = 'concurrency', max = 1, lease = 60000 }")
    with Limits.watch(path, every=3600) as limits, flask(limits) as port:
        assert admitted(port, "ada", 5) == 5
