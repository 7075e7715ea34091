"""The names of django-ratelimit: beside the library itself, and what is better here."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

sys.path.insert(0, str(Path(__file__).parent / "apps"))
site: Any = importlib.import_module("site_of_django")

import django_ratelimit.core as their_core  # noqa: E402
import django_ratelimit.decorators as their_decorators  # noqa: E402
from django.core.exceptions import BadRequest, ImproperlyConfigured, PermissionDenied  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.test import AsyncClient, AsyncRequestFactory, Client, RequestFactory, override_settings  # noqa: E402
from django.urls import path  # noqa: E402
from django.utils.decorators import method_decorator  # noqa: E402
from django.views import View  # noqa: E402

from tidegate.django import ratelimit as ours  # noqa: E402
from tidegate.testing import limits_off, use_limiter  # noqa: E402

THEIRS = SimpleNamespace(
    **{name: getattr(their_core, name) for name in ("get_usage", "is_ratelimited")},
    ratelimit=their_decorators.ratelimit,
    UNSAFE=their_decorators.UNSAFE,
)


def limited(request: Any, error: Exception) -> HttpResponse:  # noqa: ARG001
    return HttpResponse("slow down", status=429)


def elsewhere(request: Any) -> str:  # noqa: ARG001
    return "192.0.2.9"


def real(request: Any) -> str | None:
    found: str | None = request.headers.get("x-real-ip")
    return found


@ours.ratelimit(group="ip", key="ip", rate="100/s")
def by_ip(_request: Any) -> HttpResponse:
    return HttpResponse("ip")


class Other(PermissionDenied):
    pass


@ours.ratelimit(key="header:x-api-key", rate="3/d")
def three(_request: Any) -> HttpResponse:
    return HttpResponse("three")


@ours.ratelimit(key="header:x-api-key", rate="3/d")
async def later(_request: Any) -> HttpResponse:
    return HttpResponse("later")


@ours.ratelimit(group="both a", key="header:x-api-key", rate="2/d")
@ours.ratelimit(group="both b", key="header:x-api-key", rate="5/d")
def both(_request: Any) -> HttpResponse:
    return HttpResponse("both")


@ours.ratelimit(group="both b", key="header:x-api-key", rate="5/d", block=False)
def second(request: Any) -> HttpResponse:
    return HttpResponse(str(request.limited))


@ours.ratelimit(key="user_or_ip", rate="1/d")
async def mine(_request: Any) -> HttpResponse:
    return HttpResponse("mine")


class Things(View):
    @method_decorator(ours.ratelimit(key="header:x-api-key", rate="1/d", method=ours.UNSAFE))
    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return super().dispatch(request, *args, **kwargs)

    def get(self, _request: Any) -> HttpResponse:
        return HttpResponse("get")

    post = get


urlpatterns = [
    path("three/", three),
    path("later/", later),
    path("both/", both),
    path("second/", second),
    path("mine/", mine),
    path("ip/", by_ip),
    path("things/", Things.as_view()),
]


@pytest.fixture
def key() -> str:
    return uuid4().hex


@pytest.fixture(autouse=True)
def _settings(store: str) -> Iterator[None]:
    options = {"timeout": 5} if "redis" in store else {}
    tidegate = {"default": {"LOCATION": store, "OPTIONS": options}}
    with override_settings(ROOT_URLCONF=__name__, TIDEGATE=tidegate):
        yield


def statuses(path: str, count: int, key: str, method: str = "get", client: Any = None) -> list[int]:
    client = client or Client()
    return [getattr(client, method)(path, headers={"x-api-key": key}).status_code for _ in range(count)]


def seen(library: Any, request: Any, count: int, **options: Any) -> list[Any]:
    """The answers of a library's view to as many requests."""
    found: list[Any] = []

    @library.ratelimit(**options)
    def view(request: Any) -> None:
        found.append(request.limited)

    for _ in range(count):
        request.limited = False
        # Each is a request of its own.
        request.__dict__.pop("_tidegate", None)
        try:
            view(request)
        except PermissionDenied as error:
            found.append(type(error).__name__)
    return found


def request_of(key: str, method: str = "get") -> Any:
    request = getattr(RequestFactory(), method)(f"/?q={key}", headers={"x-api-key": key}, REMOTE_ADDR="203.0.113.9")
    request.user = site.User(key)
    return request


@pytest.mark.parametrize(
    "options",
    [
        {"key": "user", "rate": "3/d"},
        {"key": "user_or_ip", "rate": "2/2d", "block": False},
        {"key": "header:x-api-key", "rate": "3/24h"},
        {"key": "get:q", "rate": (2, 86_400)},
        {"key": "user", "rate": "2/d", "method": "POST"},
        {"key": "user", "rate": "2/d", "method": ["get", "post"]},
        {"key": "user", "rate": "0/s"},
        {"key": "user", "rate": "0/s", "block": False},
        {"key": "user", "rate": None},
        {"key": lambda group, request: f"{group}{request.user.pk}", "rate": "1/d", "group": "mine"},
        {"key": "user", "rate": lambda group, _request: None if group == "none" else "1/d", "group": "none"},
        {"key": "user", "rate": lambda group, _request: None if group == "none" else "1/d", "group": "one"},
    ],
)
def test_the_decorator_does_as_theirs(options: dict[str, Any], key: str) -> None:
    assert seen(ours, request_of(key), 5, **options) == seen(THEIRS, request_of(key), 5, **options)


def test_usage_is_as_theirs_up_to_the_limit(key: str) -> None:
    def usages(library: Any) -> list[dict[str, Any]]:
        options: Any = {"group": "usage", "key": "user", "rate": "3/d"}
        return [library.get_usage(request_of(key), **options, increment=True) for _ in range(4)]

    mine, other = usages(ours), usages(THEIRS)
    assert all(0 < one.pop("time_left") <= 86_400 for one in [*mine, *other])
    assert mine == other
    assert [one["count"] for one in mine] == [1, 2, 3, 4]
    # It looks without counting. The rate is used up, so the next request is denied; theirs would let it pass.
    looked: Any = {"group": "usage", "key": "user", "rate": "3/d"}
    assert ours.get_usage(request_of(key), **looked) == {
        "count": 3,
        "limit": 3,
        "should_limit": True,
        "time_left": pytest.approx(86_400, abs=60),
    }
    assert ours.is_ratelimited(request_of(key), **looked)
    assert not ours.is_ratelimited(request_of(key + "2"), **looked)
    assert ours.get_usage(request_of(key, "post"), **looked, method="GET") is None


def test_views_are_denied_with_403_and_headers(key: str) -> None:
    assert statuses("/three/", 5, key) == [200] * 3 + [403] * 2
    answer = Client().get("/three/", headers={"x-api-key": key})
    assert (answer["x-ratelimit-remaining"], "retry-after" in answer) == ("0", True)
    assert statuses("/things/", 3, key) == [200] * 3
    assert statuses("/things/", 2, key, "post") == [200, 403]


def test_async_views(key: str) -> None:
    async def ask(path: str, **headers: str) -> int:
        status: int = (await AsyncClient().get(path, headers=headers)).status_code
        return status

    async def all_of() -> list[int]:
        return [await ask("/later/", x_api_key=key) for _ in range(4)]

    assert asyncio.run(all_of()) == [200, 200, 200, 403]
    assert [asyncio.run(ask("/mine/", x_user=name)) for name in (key, key, key + "2")] == [200, 403, 200]


def test_decorators_on_each_other_are_one_decision(key: str) -> None:
    assert statuses("/both/", 4, key) == [200, 200, 403, 403]
    # The two that one of them denied were counted by neither: three of five are left.
    client = Client()
    answers = [client.get("/second/", headers={"x-api-key": key}).content for _ in range(4)]
    assert answers == [b"False"] * 3 + [b"True"]


@pytest.mark.parametrize(
    "chosen", ["header:x-name", lambda _group, request: request.headers.get("x-name")], ids=["header", "function"]
)
@pytest.mark.parametrize("headers", [{}, {"x-name": ""}], ids=["missing", "empty"])
def test_requests_without_a_key_are_limited_by_their_address(key: str, chosen: Any, headers: dict[str, str]) -> None:
    def is_limited(address: str) -> bool:
        request = RequestFactory().get("/", headers=headers, REMOTE_ADDR=address)
        return ours.is_ratelimited(request, group=key, key=chosen, rate="1/d", increment=True)

    assert [is_limited(address) for address in ("192.0.2.1", "192.0.2.2", "192.0.2.1")] == [False, False, True]
    with override_settings(RATELIMIT_IP_META_KEY=f"{__name__}.elsewhere"):
        assert [is_limited("192.0.2.1") for _ in range(2)] == [False, True]


def test_threads_are_counted_exactly(key: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(lambda _: statuses("/three/", 1, key)[0], range(40))) == {200: 3, 403: 37}


def test_settings(key: str) -> None:
    statuses("/three/", 3, key)
    with override_settings(RATELIMIT_ENABLE=False):
        assert statuses("/three/", 1, key) == [200]
    with override_settings(RATELIMIT_EXCEPTION_CLASS=f"{__name__}.Other"), pytest.raises(Other):
        three(request_of(key))
    middleware = ["tidegate.django.RateLimitMiddleware", "tidegate.django.ratelimit.RatelimitMiddleware"]
    with override_settings(MIDDLEWARE=middleware, RATELIMIT_VIEW=f"{__name__}.limited"):
        answer = Client().get("/three/", headers={"x-api-key": key})
        assert (answer.status_code, answer.content) == (429, b"slow down")
    options: Any = {"group": key, "key": "ip", "rate": "1/d", "increment": True}
    with override_settings(RATELIMIT_IP_META_KEY="HTTP_X_API_KEY"):
        addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.2", "2001:db8::1", "2001:db8::2"]
        found = [ours.is_ratelimited(request_of(address), **options) for address in addresses]
        assert found == [False, False, True, False, True]


@pytest.mark.parametrize(
    "options",
    [
        {"key": "user", "rate": "1/d"},
        {"group": "g", "rate": "1/d"},
        {"group": "g", "rate": "1/d", "key": "nobody"},
        {"group": "g", "rate": "1/d", "key": "body:name"},
        *({"group": "g", "key": "user", "rate": rate} for rate in ("often", "5/x", "5/0s", (5, 0))),
    ],
    ids=str,
)
def test_what_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ImproperlyConfigured):
        ours.get_usage(request_of("k"), **options)


def test_tests_of_applications(key: str) -> None:
    from tidegate import Limiter

    with limits_off():
        assert statuses("/three/", 5, key) == [200] * 5
        assert not ours.is_ratelimited(request_of(key), group="g", key="user", rate="1/d")
    with use_limiter(Limiter()):
        assert statuses("/three/", 4, key) == [200, 200, 200, 403]
        ours.get_usage(request_of(key), group="g", key="user", rate="1/d", increment=True)
        assert ours.is_ratelimited(request_of(key), group="g", key="user", rate="1/d")
    assert statuses("/three/", 1, key) == [200]


def test_an_async_view_by_itself(key: str) -> None:
    request = AsyncRequestFactory().get("/", headers={"x-api-key": key})
    assert asyncio.run(later(request)).content == b"later"


@pytest.mark.parametrize("increment", [False, True])
@pytest.mark.parametrize("chosen", ["x" * 70_000, "\ud800"], ids=["long", "surrogate"])
def test_a_key_that_cannot_be_is_the_mistake_of_its_request(key: str, chosen: str, increment: bool) -> None:
    request = RequestFactory().post("/", {"q": chosen}) if chosen.isascii() else request_of(key)
    by: Any = "post:q" if chosen.isascii() else lambda _group, _request: chosen
    with pytest.raises(BadRequest):
        ours.get_usage(request, group=key, key=by, rate="1/d", increment=increment)


def test_an_address_in_a_header_that_is_none_is_the_mistake_of_its_request(key: str) -> None:
    def status(path: str, **headers: str) -> int:
        found: int = Client(raise_request_exception=False).get(path, headers=headers).status_code
        return found

    for chosen in ("HTTP_X_REAL_IP", f"{__name__}.real"):
        with override_settings(RATELIMIT_IP_META_KEY=chosen):
            assert status("/ip/", x_real_ip="192.0.2.1") == 200
            assert status("/ip/", x_real_ip=f"{key}, 192.0.2.1") == 400
            # A proxy that does not write it is a mistake of the set-up.
            assert status("/ip/") == 500
