"""A Django application that limits a view."""

import django
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

import tidegate

limiter = tidegate.Limiter()
LIMIT = tidegate.Bucket("view", size=2, drip_rate=60_000)


def view(request: HttpRequest) -> HttpResponse:
    """Answers twice."""
    info = limiter.limit(LIMIT, request.META["REMOTE_ADDR"])
    return HttpResponse(status=429 if info.blocked else 200, headers=info.headers())


urlpatterns = [path("", view)]
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"])
django.setup()
answers = [Client().get("/") for _ in range(3)]
assert [answer.status_code for answer in answers] == [200, 200, 429], answers
assert answers[2]["Retry-After"] == "60", answers[2].headers
print(f"Django {django.__version__}: 200, 200, 429")
