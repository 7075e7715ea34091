"""Django's ``i18n_patterns``: a client has one limit of a view, not one in each language."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tidegate import parse_headers

sys.path.insert(0, str(Path(__file__).parent / "apps"))

site: Any = importlib.import_module("site_of_django")

from django.conf.urls.i18n import i18n_patterns  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.test import Client, override_settings  # noqa: E402
from django.urls import path  # noqa: E402

from tidegate.django import rate_limit  # noqa: E402


@rate_limit("2/day")
def login(_request: Any, **_path: Any) -> HttpResponse:
    return HttpResponse("login")


def urls(name: str, patterns: list[Any]) -> str:
    """A module of patterns under this name."""
    module: Any = ModuleType(name)
    module.urlpatterns = patterns
    sys.modules[name] = module
    return name


@pytest.fixture
def settings(store: str) -> Iterator[Any]:
    with override_settings(
        TIDEGATE={"default": {"LOCATION": store}, "HEADERS": "ietf", "KEY": "ip"}
        | {"LIMITS": "1000/day", "NAME": "all"},
        MIDDLEWARE=["django.middleware.locale.LocaleMiddleware", "tidegate.django.RateLimitMiddleware"],
        USE_I18N=True,
        LANGUAGES=[("en", "English"), ("de", "Deutsch"), ("fr", "Français")],
        LANGUAGE_CODE="en",
    ):
        yield override_settings


def asked(paths: list[str], peer: str) -> list[tuple[int, str | None]]:
    """The status and the key of the limit of each."""
    answers = [Client().get(path, REMOTE_ADDR=peer) for path in paths]
    return [(answer.status_code, parse_headers(dict(answer.headers)).policies[-1].name) for answer in answers]


def test_languages_share_a_limit(settings: Any) -> None:
    patterns: list[Any] = i18n_patterns(path("login/<int:page>/", login))
    with settings(ROOT_URLCONF=urls("urls_of_languages", patterns)):
        told = asked(["/en/login/1/", "/de/login/1/", "/fr/login/1/"], "203.0.113.1")
    key = "/login/{page}/"
    assert told == [(200, key), (200, key), (429, key)]


def test_the_default_language_without_a_prefix(settings: Any) -> None:
    patterns: list[Any] = i18n_patterns(path("login/", login), prefix_default_language=False)
    with settings(ROOT_URLCONF=urls("urls_of_a_default_language", patterns)):
        told = asked(["/login/", "/de/login/", "/fr/login/"], "203.0.113.2")
    assert told == [(200, "/login/"), (200, "/login/"), (429, "/login/")]


def test_a_site_of_one_language_keeps_its_paths(settings: Any) -> None:
    with settings(ROOT_URLCONF=urls("urls_of_one_language", [path("en/login/", login)])):
        assert asked(["/en/login/"], "203.0.113.3") == [(200, "/en/login/")]
