"""A Django project in one file, as its users write it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIServer, make_server

import django
from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path
from django.utils.decorators import method_decorator, sync_and_async_middleware
from django.views import View

STORE = os.environ.get("STORE", "memory://")
KEY = "header:x-api-key"
OPTIONS = {"timeout": float(os.environ.get("STORE_TIMEOUT", "5"))} if "redis" in STORE else {}
TIDEGATE = {
    "default": {"LOCATION": STORE, "OPTIONS": OPTIONS},
    "other": {"LOCATION": "memory://"},
    "LIMITS": "20/day",
    "NAME": "all",
    "KEY": KEY,
    "HEADERS": "both",
}

settings.configure(
    ALLOWED_HOSTS=["*"],
    DEBUG=False,
    INSTALLED_APPS=["tidegate.django"],
    LOGGING_CONFIG=None,
    MIDDLEWARE=["tidegate.django.RateLimitMiddleware", f"{__name__}.{os.environ.get('USERS', 'users')}"],
    ROOT_URLCONF=os.environ.get("URLS", __name__),
    SECRET_KEY="for tests",
    REST_FRAMEWORK={"UNAUTHENTICATED_USER": None},
    TIDEGATE=TIDEGATE,
)
django.setup()

from tidegate.django import exempt, rate_limit, settle  # noqa: E402


class User:
    is_authenticated = True

    def __init__(self, pk: str) -> None:
        self.pk = pk


class Nobody(User):
    is_authenticated = False


def know(request: Any) -> None:
    name = request.headers.get("x-user")
    request.user = user = Nobody("") if name is None else User(name)

    async def auser() -> User:
        return user

    request.auser = auser


@sync_and_async_middleware
def users(get_response: Any) -> Any:
    """A middleware that finds the user, behind the one that limits."""

    def serve(request: Any) -> Any:
        know(request)
        return get_response(request)

    async def serve_async(request: Any) -> Any:
        know(request)
        return await get_response(request)

    return serve_async if iscoroutinefunction(get_response) else serve


def users_in_thread(get_response: Any) -> Any:
    """The same without an async form, for which Django serves the middlewares above in a thread."""
    return users(lambda request: get_response(request))


@rate_limit("3/day", key=KEY)
def items(request: Any, item: int) -> HttpResponse:
    return JsonResponse({"item": item, "remaining": request.rate_limit.remaining})


@rate_limit("3/day", key=KEY)
async def later(_request: Any) -> HttpResponse:
    return HttpResponse("later")


@rate_limit("1/day", key="user_or_ip", override=True)
def mine(_request: Any) -> HttpResponse:
    return HttpResponse("mine")


@exempt
@rate_limit("1/day", key=KEY)
def health(_request: Any) -> HttpResponse:
    return HttpResponse("ok")


@exempt
def worker(_request: Any) -> HttpResponse:
    return HttpResponse(str(os.getpid()))


@rate_limit("1/day", key=KEY, using="other")
def other(_request: Any) -> HttpResponse:
    return HttpResponse("other")


@rate_limit("1/day", key=KEY, on_blocked=lambda _request, info: HttpResponse(f"wait {info.binding}", status=503))
def own(_request: Any) -> HttpResponse:
    return HttpResponse("own")


def fail(_request: Any) -> HttpResponse:
    raise RuntimeError("as asked")


tokens = rate_limit("100/day", key=KEY, cost=50, name="tokens")


def streams(parts: Callable[[Any], Iterator[float]]) -> tuple[Any, Any]:
    """Views that stream, a sync and an async one, with the pause behind each part."""

    @tokens
    def now(request: Any) -> StreamingHttpResponse:
        def body() -> Iterator[str]:
            for pause in parts(request):
                yield "x"
                time.sleep(pause)

        return StreamingHttpResponse(body())

    @tokens
    async def later(request: Any) -> StreamingHttpResponse:
        async def body() -> AsyncIterator[str]:
            for pause in parts(request):
                yield "x"
                await asyncio.sleep(pause)

        return StreamingHttpResponse(body())

    return now, later


def short(request: Any) -> Iterator[float]:
    for number in range(1, 4):
        settle(request, number)
        yield 0


def long(request: Any) -> Iterator[float]:
    for number in range(1, 45):
        settle(request, number)
        yield 0.1


def broken(request: Any) -> Iterator[float]:
    settle(request, 7)
    yield 0
    raise RuntimeError("as asked")


@tokens
async def slow(request: Any) -> HttpResponse:
    settle(request, 5)
    await asyncio.sleep(20)
    return HttpResponse("late")


@rate_limit("100/day", key=KEY, cost=0, name="tokens", override=True)
def left(request: Any) -> HttpResponse:
    return HttpResponse(str(request.rate_limit.remaining))


@rate_limit("2/day", key=KEY)
class Sync(View):
    def get(self, _request: Any) -> HttpResponse:
        return HttpResponse("get")


@method_decorator(rate_limit("2/day", key=KEY), name="dispatch")
class Async(View):
    async def get(self, _request: Any) -> HttpResponse:
        return HttpResponse("get")


class Methods(View):
    @method_decorator(rate_limit("1/day", key=KEY))
    def get(self, _request: Any) -> HttpResponse:
        return HttpResponse("get")

    def post(self, _request: Any) -> HttpResponse:
        return HttpResponse("post")


urlpatterns = [
    path("items/<int:item>/", items),
    path("later/", later),
    path("mine/", mine),
    path("health/", health),
    path("worker/", worker),
    path("other/", other),
    path("own/", own),
    path("fail/", fail),
    path("slow/", slow),
    path("left/", left),
    path("sync/", Sync.as_view()),
    path("async/", Async.as_view()),
    path("methods/", Methods.as_view()),
]
for name, parts in {"stream": short, "stream/long": long, "stream/broken": broken}.items():
    view, view_later = streams(parts)
    urlpatterns += [path(f"{name}/", view), path(f"{name}/later/", view_later)]
wsgi = get_wsgi_application()
asgi = get_asgi_application()


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


def serve(port: int) -> None:
    make_server("127.0.0.1", port, wsgi, Server).serve_forever()
