"""One hello-world for Django, limited by ``LIMITED``: nothing, our middleware, our decorator, or django-ratelimit."""

from __future__ import annotations

import os
from typing import Any

import django
from django.conf import settings

MANY = "1000000/second"
STORE = os.environ["STORE"]
LIMITED = os.environ["LIMITED"]

HELLO = '{"hello": "world"}'

CACHE = "locmem.LocMemCache" if STORE == "memory://" else "redis.RedisCache"
settings.configure(
    ALLOWED_HOSTS=["*"],
    CACHES={"default": {"BACKEND": f"django.core.cache.backends.{CACHE}", "LOCATION": STORE}},
    LOGGING_CONFIG=None,
    MIDDLEWARE=["tidegate.django.RateLimitMiddleware"] if LIMITED in ("middleware", "decorator") else [],
    ROOT_URLCONF=__name__,
    TIDEGATE={"default": {"LOCATION": STORE}, **({"LIMITS": MANY} if LIMITED == "middleware" else {})},
)
django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.urls import path  # noqa: E402
from django_ratelimit.decorators import ratelimit  # noqa: E402

from tidegate.django import rate_limit  # noqa: E402


def hello(_request: Any) -> HttpResponse:
    return HttpResponse(HELLO, headers={"Content-Length": str(len(HELLO))})


view: Any = hello
if LIMITED == "decorator":
    view = rate_limit(MANY)(hello)
elif LIMITED == "django-ratelimit":
    view = ratelimit(key="ip", rate="1000000/s")(hello)

urlpatterns = [path("", view)]
app = get_wsgi_application()
