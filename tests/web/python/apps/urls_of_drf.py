"""Views of Django REST framework, for the project beside."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import path
from rest_framework.authentication import BaseAuthentication
from rest_framework.response import Response
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView
from site_of_django import KEY, User

from tidegate.drf import RateLimitThrottle


class Burst(RateLimitThrottle):
    limits = ["3/hour", "9/day"]  # noqa: RUF012
    key = KEY


class Sustained(RateLimitThrottle):
    limits = "2/day"
    key = KEY


class Mine(RateLimitThrottle):
    limits = "1/day"


class Logins(RateLimitThrottle):
    limits = "2/day"
    key = KEY
    charge_on = frozenset({404})


class Minutely(RateLimitThrottle):
    limits = "2/minute"
    key = KEY


class Theirs(SimpleRateThrottle):
    rate = "2/day"

    def get_cache_key(self, request: Any, view: Any) -> str:  # noqa: ARG002
        return f"theirs-{request.headers['x-api-key']}"


class ByName(BaseAuthentication):
    """The name in the header is the user's, without a password."""

    def authenticate(self, request: Any) -> Any:
        name = request.headers.get("authorization")
        return None if name is None else (User(name), None)


class Open(APIView):
    authentication_classes: Any = ()
    permission_classes: Any = ()

    def get(self, request: Any, found: str = "found") -> Response:
        if found == "missing":
            raise Http404
        return Response(request.rate_limit.remaining)


class ByMethod(Open):
    throttle_classes: Any = (Sustained, Burst)

    def get_throttles(self) -> list[Any]:
        classes = {"GET": [Sustained], "POST": [Burst], "PUT": [Burst, Sustained]}
        return [found() for found in classes[self.request.method]]

    post = put = Open.get


urlpatterns = [
    path("burst/", Open.as_view(throttle_classes=[Burst])),
    path("both/", Open.as_view(throttle_classes=[Burst, Sustained])),
    path("beside/", Open.as_view(throttle_classes=[Minutely, Theirs])),
    path("by-method/", ByMethod.as_view()),
    path("missing/", Open.as_view(throttle_classes=[Burst]), {"found": "missing"}),
    path("mine/", Open.as_view(throttle_classes=[Mine], authentication_classes=[ByName])),
    path("login/<str:found>/", Open.as_view(throttle_classes=[Logins])),
]
