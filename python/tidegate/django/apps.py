"""The application ``tidegate.django`` of ``INSTALLED_APPS``, with system checks of the settings."""

from __future__ import annotations

from typing import Any

from django import conf
from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Doubt
from django.utils.module_loading import import_string

from .._errors import LimitError
from .._web.django.middleware import RateLimitMiddleware
from .._web.django.room import Project, project
from .._web.django.routes import check_routes

__all__ = ["TidegateConfig"]


class TidegateConfig(AppConfig):  # type: ignore[misc]
    """Adds the system checks."""

    name = "tidegate.django"
    label = "tidegate"

    def ready(self) -> None:
        """Registers the checks when Django starts."""
        register(check_settings, Tags.security)
        register(check_deployment, Tags.security, deploy=True)


def check_settings(**_options: Any) -> list[CheckMessage]:
    """``tidegate.E001``: settings that cannot be. ``tidegate.W001``: limits that nothing enforces.

    ``tidegate.E002``: limits of a view that exclude each other.
    """
    known = _known()
    if isinstance(known, Error):
        return [known]
    try:
        check_routes()
    except LimitError as error:
        return [Error(f"The limits of a view cannot be decided together: {error}", id="tidegate.E002")]
    if known.default is None or any(_is_ours(name) for name in conf.settings.MIDDLEWARE):
        return []
    hint = "Add 'tidegate.django.RateLimitMiddleware' to MIDDLEWARE."
    return [Doubt("TIDEGATE['LIMITS'] are not enforced: the middleware is missing.", hint=hint, id="tidegate.W001")]


def check_deployment(**_options: Any) -> list[CheckMessage]:
    """``tidegate.W002``: a store in memory. ``tidegate.W003``: a proxy in front that is not trusted."""
    known = _known()
    if isinstance(known, Error):
        # The other check reports it.
        return []
    found: list[CheckMessage] = []
    for alias, room in known.rooms.items():
        if not room.store.shared:
            text = f"TIDEGATE[{alias!r}] is in memory: each process admits the whole limit."
            found.append(Doubt(text, hint="Give it a LOCATION such as 'redis://localhost:6379/0'.", id="tidegate.W002"))
    if (conf.settings.SECURE_PROXY_SSL_HEADER or conf.settings.USE_X_FORWARDED_HOST) and known.room.gate.trusts_nobody:
        text = "There is a proxy in front, by other settings, and every client is limited as that one address."
        hint = "Set TIDEGATE['TRUSTED_PROXIES'] to the number of proxies, or to their networks."
        found.append(Doubt(text, hint=hint, id="tidegate.W003"))
    return found


def _known() -> Project | Error:
    try:
        return project()
    except Exception as error:
        return Error(f"The TIDEGATE setting cannot be used: {error}", id="tidegate.E001")


def _is_ours(path: str) -> bool:
    middleware = import_string(path)
    return isinstance(middleware, type) and issubclass(middleware, RateLimitMiddleware)
