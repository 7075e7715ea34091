"""The routes of a project with their limits, as far as they are known without a request."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.conf import settings
from django.urls import get_resolver
from django.urls.resolvers import LocalePrefixPattern, URLResolver

from ..._tidegate import _APP, _template
from ..operate import Place
from .room import project


def places(using: str) -> list[Place]:
    """The limits of every route that one store decides, and those of any other path."""
    known = project()
    found = [Place(route, _guards(view, route, using)) for route, view in _routes()]
    default = [(known.default, _APP)] if known.default is not None and known.default.using == using else []
    return [*found, Place("any other path", default)]


def check_routes() -> None:
    """Raises for a view whose limits cannot be decided together."""
    for route, view in _routes():
        project().plan(view, partial(str, route))


def _guards(view: Any, route: str, using: str) -> list[tuple[Any, str]]:
    find = partial(str, route)
    guards = [guard for _, together, _ in project().plan(view, find).by_store for guard in together]
    throttles = getattr(getattr(view, "cls", None), "throttle_classes", ())
    guards += [one.guard for one in throttles if getattr(one, "guard", None) is not None]
    return [(guard, project().place(guard, find)) for guard in guards if guard.using == using]


def _routes() -> Iterator[tuple[str, Any]]:
    """Every route with its view; none where a project has no URLs, as one of commands alone."""
    return _views(get_resolver(), "") if getattr(settings, "ROOT_URLCONF", None) else iter(())


def _views(resolver: Any, before: str) -> Iterator[tuple[str, Any]]:
    """Every route with its view, without the language in front."""
    for pattern in resolver.url_patterns:
        own = "" if isinstance(pattern.pattern, LocalePrefixPattern) else str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _views(pattern, before + own)
        else:
            yield _template(before + own, "angles"), pattern.callback
