"""The template of a route and of what it is mounted under: a key of limits that a client cannot vary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._tidegate import _template
from .connection import Scope


def route_template(scope: Scope) -> str | None:
    """The template of the route that serves a request, as Starlette has noted it; ``None`` where it has not."""
    path = getattr(scope.get("route"), "path_format", None)
    return None if path is None else _template(mounted(scope) + path, "braces")


def mounted(scope: Scope) -> str:
    """The template of the path under which the application that serves a request is mounted; empty at the top."""
    root: str = scope.get("root_path", "")
    path = root.removeprefix(scope.get("app_root_path", root))
    if not path:
        return path
    routes = getattr(scope.get("router"), "routes", ())
    found = _template_of(path, routes)
    if found is not None:
        return found
    # Not known how it is mounted: by the names of its parameters, never by their values.
    own = getattr(scope.get("route"), "param_convertors", ())
    names = [name for name in scope.get("path_params", ()) if name not in own]
    return "".join(f"/{{{name}}}" for name in names) if names else path


def _template_of(path: str, routes: Iterable[Any]) -> str | None:
    """The templates of the mounts that lead to a path, the first as the router would find them."""
    for mount in routes:
        below = getattr(mount, "routes", None)
        if below is None or not hasattr(mount, "path_regex"):
            continue
        match = mount.path_regex.match(path + "/")
        if match is None:
            continue
        rest = "/" + match.groupdict().get("path", "").rstrip("/")
        inner = "" if rest == "/" else _template_of(rest, below)
        if inner is not None:
            # Behind its own Starlette has the rest of the path.
            own: str = mount.path_format.removesuffix("/{path}")
            return own + inner
    return None
