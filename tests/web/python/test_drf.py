"""REST framework's throttle class, with the middleware and without it."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from serving import Served
from tidegate import LimitError, parse_headers
from tidegate._http import forget_mistakes

APPS = Path(__file__).parent / "apps"
sys.path.insert(0, str(APPS))

site: Any = importlib.import_module("site_of_django")
urls: Any = importlib.import_module("urls_of_drf")

from django.test import AsyncClient, Client, override_settings  # noqa: E402

from tidegate.drf import RateLimitThrottle  # noqa: E402


@pytest.fixture
def key() -> str:
    """An actor of one test."""
    return uuid4().hex


@pytest.fixture(params=[True, False], ids=["middleware", "alone"])
def client(request: pytest.FixtureRequest, store: str, key: str) -> Iterator[Client]:
    default = {"LOCATION": store, "OPTIONS": {"timeout": 5} if "redis" in store else {}}
    middleware = site.settings.MIDDLEWARE if request.param else []
    project = {**site.TIDEGATE, "default": default}
    with override_settings(TIDEGATE=project, MIDDLEWARE=middleware, ROOT_URLCONF="urls_of_drf"):
        yield Client(headers={"X-Api-Key": key})


def remaining(answer: Any) -> dict[str | None, int | None]:
    """The units that remain of each policy, but for the project's own."""
    policies = parse_headers(dict(answer.headers)).policies
    return {policy.name: policy.remaining for policy in policies if policy.name != "all"}


def test_several_limits_are_one_decision(client: Client) -> None:
    answers: list[Any] = [client.get("/burst/") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert [remaining(answer) for answer in answers] == [
        {"Burst@1h": 2, "Burst@1d": 8},
        {"Burst@1h": 1, "Burst@1d": 7},
        {"Burst@1h": 0, "Burst@1d": 6},
        {"Burst@1h": 0, "Burst@1d": 6},
    ]
    assert answers[0].json() == 2
    assert answers[3].json()["detail"] == "Request was throttled. Expected available in 1200 seconds."
    assert (answers[3].headers["Retry-After"], answers[3].headers["Cache-Control"]) == ("1200", "no-store")


def test_views_share_a_class_and_classes_are_decided_together(client: Client) -> None:
    assert [client.get("/both/").status_code for _ in range(3)] == [200, 200, 429]
    # What the third was denied for charged neither of them.
    assert remaining(client.get("/burst/"))["Burst@1h"] == 0


def test_a_request_is_charged_by_the_throttles_that_its_view_asks_for(client: Client) -> None:
    answers = [getattr(client, method)("/by-method/") for method in ("get", "post", "put")]
    assert [remaining(answer) for answer in answers] == [
        {"Sustained": 1},
        {"Burst@1h": 2, "Burst@1d": 8},
        {"Burst@1h": 1, "Burst@1d": 7, "Sustained": 0},
    ]
    # The two of the last method are one decision: what one of them denies, the other is not charged for.
    assert [getattr(client, method)("/by-method/").status_code for method in ("put", "get")] == [429, 429]
    assert remaining(client.post("/by-method/"))["Burst@1h"] == 0


def test_a_denial_says_the_longest_wait_of_all_throttles(client: Client) -> None:
    assert [client.get("/beside/").status_code for _ in range(2)] == [200, 200]
    answer: Any = client.get("/beside/")
    waited = int(answer.headers["Retry-After"])
    assert answer.json()["detail"] == f"Request was throttled. Expected available in {waited} seconds."
    # That of REST framework's own, which is for a day.
    assert 86_000 < waited <= 86_400


def test_headers_are_on_errors(client: Client) -> None:
    answer = client.get("/missing/")
    assert (answer.status_code, remaining(answer)["Burst@1h"]) == (404, 2)


def test_users_that_rest_framework_finds(client: Client) -> None:
    names = [uuid4().hex, uuid4().hex]
    asked = [client.get("/mine/", headers={"Authorization": name}).status_code for name in [*names, names[0]]]
    assert asked == [200, 200, 429]


def test_users_under_the_async_handler(key: str) -> None:
    project = {**site.TIDEGATE, "KEY": "user_or_ip"}
    with override_settings(TIDEGATE=project, ROOT_URLCONF="urls_of_drf"):
        names = [uuid4().hex, uuid4().hex]
        client: Any = AsyncClient()
        asked = [client.get("/mine/", headers={"Authorization": name, "X-User": key}) for name in [*names, names[0]]]
        assert [asyncio.run(answer).status_code for answer in asked] == [200, 200, 429]


def test_charges_by_the_outcome_need_the_middleware(key: str, told: Any) -> None:
    forget_mistakes()
    for middleware, statuses in [
        (site.settings.MIDDLEWARE, [404, 200, 200, 404, 429]),
        ([], [404, 200, 429, 429, 429]),
    ]:
        with override_settings(TIDEGATE=site.TIDEGATE, MIDDLEWARE=middleware, ROOT_URLCONF="urls_of_drf"):
            client = Client(headers={"X-Api-Key": key})
            paths = ["missing", "found", "found", "missing", "found"]
            assert [client.get(f"/login/{path}/").status_code for path in paths] == statuses
    assert told() == ["middleware-missing"]


def test_a_class_without_limits_and_mistakes() -> None:
    # As REST framework's own: without an error it would let all requests pass.
    with pytest.raises(LimitError, match="Often needs limits, such as limits = '100/minute'"):
        type("Often", (RateLimitThrottle,), {"rate": "5/min"})()
    with pytest.raises(LimitError, match="must have a count"):
        type("Wrong", (RateLimitThrottle,), {"limits": "often"})
    with pytest.raises(LimitError, match="key must be a function"):
        type("Wrong", (RateLimitThrottle,), {"limits": "1/day", "key": "session"})


def test_over_http(store: str, key: str) -> None:
    code = "import site_of_django; site_of_django.serve({port})"
    with Served(sys.executable, "-c", code, folder=APPS, STORE=store, URLS="urls_of_drf") as server:
        answers = [server.ask("/burst/", x_api_key=key) for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[3].headers["retry-after"] == "1200"
