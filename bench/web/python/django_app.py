"""One hello-world for Django, limited by ``LIMITED``, a name of ``servers.ROWS``."""

from __future__ import annotations

import os
from typing import Any

import django
from django.conf import settings

MANY = "1000000/second"
STORE = os.environ["STORE"]
LIMITED = os.environ["LIMITED"]

HELLO = '{"hello": "world"}'

# What ours has: the limit of every view, and the middleware that carries the headers.
IS_DEFAULT = LIMITED.startswith("middleware")
MIDDLEWARE = {
    "two constant headers": [f"{__name__}.constant_headers"],
    "decorator": ["tidegate.django.RateLimitMiddleware"],
}
CACHE = "locmem.LocMemCache" if STORE == "memory://" else "redis.RedisCache"
settings.configure(
    ALLOWED_HOSTS=["*"],
    CACHES={"default": {"BACKEND": f"django.core.cache.backends.{CACHE}", "LOCATION": STORE}},
    LOGGING_CONFIG=None,
    MIDDLEWARE=MIDDLEWARE["decorator"] if IS_DEFAULT else MIDDLEWARE.get(LIMITED, []),
    ROOT_URLCONF=__name__,
    TIDEGATE={
        "default": {"LOCATION": STORE},
        "HEADERS": "common" if "common" in LIMITED else "none" if "without" in LIMITED else "x",
        **({"LIMITS": MANY} if IS_DEFAULT else {}),
    },
)
django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.urls import path  # noqa: E402
from django_ratelimit.decorators import ratelimit  # noqa: E402

from tidegate.django import rate_limit  # noqa: E402


def constant_headers(get_response: Any) -> Any:
    """A middleware that adds two headers."""

    def serve(request: Any) -> Any:
        response = get_response(request)
        response["X-RateLimit-Remaining"] = "999999"
        response["X-RateLimit-Clear"] = "0.001"
        return response

    return serve


def hello(_request: Any) -> HttpResponse:
    return HttpResponse(HELLO, headers={"Content-Length": str(len(HELLO))})


view: Any = hello
if LIMITED.startswith("decorator"):
    view = rate_limit(MANY)(hello)
elif LIMITED == "django-ratelimit":
    view = ratelimit(key="ip", rate="1000000/s")(hello)

urlpatterns = [path("", view)]
app = get_wsgi_application()
