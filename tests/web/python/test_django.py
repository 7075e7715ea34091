"""Django's middleware and decorator, in its test clients."""

from __future__ import annotations

import asyncio
import importlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.test import Client as WerkzeugClient

from tidegate import Bucket, LimitError, parse_headers
from tidegate._http import forget_mistakes

APPS = Path(__file__).parent / "apps"
sys.path.insert(0, str(APPS))

site: Any = importlib.import_module("site_of_django")

from django.conf import settings  # noqa: E402
from django.core import checks  # noqa: E402
from django.core.exceptions import BadRequest, DisallowedHost, PermissionDenied  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.http import FileResponse, Http404  # noqa: E402
from django.test import AsyncClient, Client, RequestFactory, override_settings  # noqa: E402
from django.urls import path as route  # noqa: E402
from django.views import View  # noqa: E402

from tidegate.django import exempt, info, limiter, rate_limit, rate_limited  # noqa: E402


@pytest.fixture
def key() -> str:
    """An actor of one test."""
    return uuid4().hex


class Asker:
    """Requests of one actor, to the sync or the async handler."""

    def __init__(self, key: str, is_async: bool) -> None:
        self.key = key
        self.client: Any = (AsyncClient if is_async else Client)(raise_request_exception=False)
        self.is_async = is_async

    def ask(self, path: str, method: str = "get", **options: Any) -> Any:
        headers = {"X-Api-Key": self.key, **options.pop("headers", {})}
        options.setdefault("content_type", "text/plain") if method == "post" else None
        answer = getattr(self.client, method)(path, headers=headers, **options)
        return asyncio.run(answer) if self.is_async else answer

    def statuses(self, path: str, count: int, method: str = "get", **options: Any) -> list[int]:
        return [self.ask(path, method, **options).status_code for _ in range(count)]


@pytest.fixture(params=["sync", "async"])
def asker(request: pytest.FixtureRequest, store: str, key: str) -> Iterator[Asker]:
    default = {"LOCATION": store, "OPTIONS": {"timeout": 5} if "redis" in store else {}}
    with override_settings(TIDEGATE={**site.TIDEGATE, "default": default}):
        yield Asker(key, request.param == "async")


def remaining(answer: Any) -> dict[str | None, int | None]:
    """The units that remain of each policy."""
    return {policy.name: policy.remaining for policy in parse_headers(dict(answer.headers)).policies}


def test_limits_of_project_and_view_are_one_decision(asker: Asker) -> None:
    first = asker.ask("/items/1/")
    assert first.json() == {"item": 1, "remaining": 2}
    assert remaining(first) == {"all": 19, "/items/{item}/": 2}
    assert [asker.ask(f"/items/{item}/").status_code for item in (2, 3, 4, 5)] == [200, 200, 429, 429]
    # The two that were denied have charged neither.
    assert remaining(asker.ask("/fail/"))["all"] == 16


@pytest.mark.parametrize("path", ["/later/", "/sync/", "/async/"])
def test_sync_and_async_views_and_classes(asker: Asker, path: str) -> None:
    quota = 3 if path == "/later/" else 2
    assert asker.statuses(path, quota + 1) == [200] * quota + [429]


def test_a_method_of_a_class(asker: Asker) -> None:
    assert asker.statuses("/methods/", 2) == [200, 429]
    # What was charged before the method denied was given back.
    assert remaining(asker.ask("/methods/", "post")) == {"all": 18}


def test_users_and_override(asker: Asker) -> None:
    path = f"/mine/?{asker.key}"
    names = [uuid4().hex, uuid4().hex]
    for name in names:
        first = asker.ask(path, headers={"X-User": name})
        assert (first.status_code, remaining(first)) == (200, {"/mine/": 0})
        assert asker.ask(path, headers={"X-User": name}).status_code == 429


def test_exempt_errors_and_what_has_no_route(asker: Asker) -> None:
    assert "x-ratelimit-remaining" not in asker.ask("/health/")
    assert asker.statuses("/health/", 2) == [200, 200]
    for path, status, left in [("/fail/", 500, 19), ("/nowhere/", 404, 18)]:
        answer = asker.ask(path)
        assert (answer.status_code, remaining(answer)) == (status, {"all": left})
    assert asker.statuses("/nowhere/", 19) == [404] * 18 + [429]


def hello(_view: View, _request: Any) -> Any:
    return site.HttpResponse("hello")


def inheriting(base: Any, *decorators: Any) -> Any:
    """A class that inherits from another, under decorators, the outermost first."""
    made: Any = type("Hello", (base,), {"get": hello})
    for decorate in reversed(decorators):
        made = decorate(made)
    return made


ONCE = rate_limit("1/day", key=site.KEY, name="once")
TWICE = rate_limit("2/day", key=site.KEY, name="twice", override=True)


@pytest.mark.parametrize(
    ("view", "names", "count"),
    [
        (inheriting(View, exempt, ONCE), [], 3),
        (inheriting(View, ONCE, exempt), [], 3),
        (inheriting(inheriting(View, ONCE), exempt), [], 3),
        # As on a function: it replaces the limits of the project alone.
        (inheriting(View, TWICE, ONCE), ["twice", "once"], 1),
        (inheriting(inheriting(View, ONCE), TWICE), ["twice"], 2),
        (inheriting(inheriting(View, TWICE), ONCE), ["twice", "once"], 1),
        (inheriting(inheriting(View, ONCE), TWICE, exempt), [], 3),
        (inheriting(inheriting(View, ONCE)), ["all", "once"], 1),
    ],
)
def test_decorators_of_a_class_and_of_the_one_that_it_inherits(
    asker: Asker, view: Any, names: list[str], count: int
) -> None:
    with override_settings(ROOT_URLCONF=(route("", view.as_view()),)):
        answers = [asker.ask("/") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * count + [429] * (3 - count)
    assert list(remaining(answers[0])) == names


FILES: list[io.BytesIO] = []


def answering(_get_response: Any) -> Any:
    """A middleware that answers with a file."""

    def serve(_request: Any) -> Any:
        FILES.append(io.BytesIO(b"file"))
        return FileResponse(FILES[-1])

    return serve


def test_a_response_is_closed_where_a_denial_replaces_it(asker: Asker) -> None:
    once = {**settings.TIDEGATE, "LIMITS": "1/day"}
    middleware = ["tidegate.django.RateLimitMiddleware", f"{__name__}.answering"]
    with override_settings(TIDEGATE=once, MIDDLEWARE=middleware):
        assert asker.statuses("/", 2) == [200, 429]
    assert [file.closed for file in FILES[-2:]] == [False, True]


async def denied_later(_request: Any, _info: Any) -> Any:
    await asyncio.sleep(0)
    return site.HttpResponse("later", status=503)


@pytest.mark.parametrize("shadow", [False, True])
def test_a_coroutine_function_makes_the_response(asker: Asker, shadow: bool) -> None:
    given = {**settings.TIDEGATE, "LIMITS": "1/day", "ON_BLOCKED": f"{__name__}.denied_later", "SHADOW": shadow}
    with override_settings(TIDEGATE=given):
        assert asker.statuses("/nowhere/", 2) == [404, 404 if shadow else 503]


def test_another_store_in_the_same_request(asker: Asker) -> None:
    assert asker.statuses("/other/", 2) == [200, 429]
    assert remaining(asker.ask("/fail/"))["all"] == 18


def test_refusals(asker: Asker) -> None:
    heard: list[Any] = []

    def hear(request: Any, info: Any, **_signal: Any) -> None:
        heard.append((request.path, info.blocked))

    rate_limited.connect(hear)
    try:
        assert asker.statuses("/sync/", 2) == [200, 200]
        for wanted in ("application/problem+json", "application/json", "text/plain"):
            answer = asker.ask("/sync/", headers={"Accept": wanted})
            assert (answer.status_code, answer.headers["Content-Type"].partition(";")[0]) == (429, wanted)
            assert (answer.headers["Cache-Control"], answer.headers["Retry-After"]) == ("no-store", "43200")
    finally:
        rate_limited.disconnect(hear)
    assert heard == [("/sync/", True)] * 3
    own = [asker.ask("/own/") for _ in range(2)]
    assert [(answer.status_code, answer.content[:4]) for answer in own] == [(200, b"own"), (503, b"wait")]
    assert own[1].headers["X-RateLimit-Remaining"] == "0"


def test_a_stream_is_settled_at_its_end(store: str, key: str) -> None:
    default = {"LOCATION": store, "OPTIONS": {"timeout": 5} if "redis" in store else {}}
    with override_settings(TIDEGATE={**site.TIDEGATE, "default": default}):
        client = Client(headers={"X-Api-Key": key})
        first: Any = client.get("/stream/")
        assert (b"".join(first.streaming_content), remaining(first)["tokens"]) == (b"xxx", 50)
        assert remaining(client.get("/stream/"))["tokens"] == 47


def test_without_the_middleware_a_view_limits() -> None:
    def hello(request: Any) -> Any:
        return site.HttpResponse(str(info(request) is request.rate_limit))

    view = rate_limit("1/day")(hello)
    answers = []
    for _ in range(2):
        request: Any = RequestFactory().get("/")
        request.resolver_match = None
        answers.append(view(request))
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[0].content == b"True"
    assert [answer["x-ratelimit-remaining"] for answer in answers] == ["0", "0"]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Http404(), 404),
        (PermissionDenied(), 403),
        (BadRequest(), 400),
        (DisallowedHost(), 400),
        (RuntimeError("as asked"), 500),
        (asyncio.CancelledError(), None),
    ],
)
def test_without_the_middleware_a_view_that_raises_is_charged_by_its_status(
    error: BaseException, status: int | None, is_async: bool
) -> None:
    asked: list[int] = []
    charged = {status: True}

    def charges(response: Any) -> bool:
        asked.append(response.status_code)
        return charged[response.status_code]

    def raising(_request: Any) -> Any:
        raise error

    async def raising_later(_request: Any) -> Any:
        raise error

    door = Bucket("raising", size=2)
    limited = rate_limit(door, charge_on=charges)

    def left() -> int:
        request = RequestFactory().get("/")
        with pytest.raises(type(error)):
            asyncio.run(limited(raising_later)(request)) if is_async else limited(raising)(request)
        return limiter().peek(door, "ip:127.0.0.1").remaining

    with override_settings(TIDEGATE={}):
        assert left() == 1
        charged[status] = False
        assert left() == (0 if status is None else 1)
    assert asked == ([] if status is None else [status] * 2)


def identifiers(**settings: Any) -> list[str | None]:
    with override_settings(**settings):
        return [found.id for found in checks.run_checks(include_deployment_checks=True) if "tidegate" in str(found.id)]


def test_system_checks() -> None:
    redis = {"default": {"LOCATION": "redis://localhost"}, "other": {"LOCATION": "redis://localhost"}}
    assert identifiers(TIDEGATE={**redis, "LIMITS": "1/day"}) == []
    # A view names a store that the settings do not.
    assert identifiers(TIDEGATE={"default": redis["default"]}) == ["tidegate.E002"]
    twice: Any = route("", inheriting(View, rate_limit("1/day"), rate_limit("2/day")).as_view())
    assert identifiers(TIDEGATE=redis, ROOT_URLCONF=(twice,)) == ["tidegate.E002"]
    assert identifiers(TIDEGATE={**redis, "LIMITS": "1/day"}, MIDDLEWARE=[]) == ["tidegate.W001"]
    assert identifiers(TIDEGATE={"other": redis["other"], "LIMITS": "1/day"}) == ["tidegate.W002"]
    assert identifiers(TIDEGATE=redis, USE_X_FORWARDED_HOST=True) == ["tidegate.W003"]
    assert identifiers(TIDEGATE={**redis, "TRUSTED_PROXIES": 1}, USE_X_FORWARDED_HOST=True) == []
    for mistake in (
        {"LIMITS": "often"},
        {"LIMTS": "1/day"},
        {"KEY": "ip"},
        {"default": {"LOCATION": "redis://", "TIMEOUT": 1}},
        {"LIMITS": "1/day", "ON_BLOCKED": "nowhere.at_all"},
        {"LIMITS": "5/day", "COST": 6},
        {"default": "redis://localhost"},
        {"default": {"LOCATION": None}},
        3,
    ):
        assert identifiers(TIDEGATE=mistake) == ["tidegate.E001"]


def test_a_project_without_urls() -> None:
    with override_settings(TIDEGATE={"LIMITS": "1/day"}):
        del settings.ROOT_URLCONF
        assert checks.run_checks() == []
        with io.StringIO() as out:
            call_command("tidegate", "limits", stdout=out)
            assert "any other path" in out.getvalue()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"default": "redis://:hush@localhost"}, "default must be a store, {'LOCATION': url}, got str"),
        ({"default": {"URL": "redis://:hush@localhost"}}, "default: URL is not LOCATION or OPTIONS"),
        (
            {"other": {"LOCATION": "redis://:hush@localhost", "OPTIONS": {"TIMEOUTS": 1}}},
            "other: Limiter() got an unexpected keyword argument 'timeouts' (did you mean timeout?)",
        ),
        (
            {"LIMITS": "1/day", "KEY": "nowhere.at_all"},
            "KEY must be a function or its path, got 'nowhere.at_all': No module named 'nowhere'",
        ),
    ],
)
def test_a_store_that_is_written_wrongly(given: Any, said: str) -> None:
    with override_settings(TIDEGATE=given):
        [found] = checks.run_checks()
        assert found.msg == f"The TIDEGATE setting cannot be used: {said}"
        with pytest.raises(LimitError) as caught:
            Client().get("/health/")
    assert "hush" not in repr(vars(caught.value)) + str(caught.value)


@pytest.mark.parametrize(("host", "codes"), [("testserver", []), ("shop.example", ["memory-many-workers"])])
def test_several_processes_with_a_store_in_memory(host: str, codes: list[str], told: Any) -> None:
    forget_mistakes()
    with override_settings(TIDEGATE=site.TIDEGATE):
        # Django's test client says that there are several, whatever there is.
        Client().get("/health/", SERVER_NAME=host)
    assert told() == codes


def test_settings_that_change_while_the_program_runs(told: Any) -> None:
    forget_mistakes()
    client = Client()
    for most in (1, 2):
        with override_settings(TIDEGATE={"LIMITS": Bucket("day", size=most), "NAME": "day"}):
            assert [client.get("/nowhere/").status_code for _ in range(3)] == [404] * most + [429] * (3 - most)
    # The client's handler was made before: the first request makes the limiter anew, and that is no mistake.
    assert told() == []


def test_clients_behind_the_proxies_of_werkzeug(told: Any) -> None:
    forget_mistakes()
    client = WerkzeugClient(ProxyFix(site.wsgi))
    with override_settings(TIDEGATE={"LIMITS": "1/day"}):
        sent = ("9.9.9.9", "8.8.8.8", "9.9.9.9", "foo", "unknown")
        peer = {"REMOTE_ADDR": "127.0.0.1"}
        answers = [client.get("/a/", headers={"X-Forwarded-For": one}, environ_base=peer).status_code for one in sent]
    assert answers == [404, 404, 429, 404, 429]
    assert told() == []


def test_mistakes_are_told_at_once() -> None:
    with pytest.raises(LimitError, match="one of ip, header:NAME, user, user_or_ip, got 'session'"):
        rate_limit("1/day", key="session")
    with pytest.raises(LimitError, match="rate_limit is for a view"):
        rate_limit("1/day")(3)
