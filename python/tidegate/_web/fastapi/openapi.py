"""The 429 in an application's OpenAPI document."""

from __future__ import annotations

from inspect import signature
from typing import Any
from weakref import WeakSet

from ..asgi.middleware import RateLimitMiddleware
from .plan import Plan, name_of, routes_of

_documented: WeakSet[Any] = WeakSet()

PROBLEM = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "violated-policies": {"type": "array", "items": {"type": "string"}},
    },
}
INTEGER: dict[str, Any] = {"schema": {"type": "integer", "minimum": 0}}
NUMBER: dict[str, Any] = {"schema": {"type": "number", "minimum": 0}}
TEXT: dict[str, Any] = {"schema": {"type": "string"}}
RETRY_AFTER = {"Retry-After": {"description": "Seconds until this request is admitted.", **INTEGER}}
X = {
    "X-RateLimit-Remaining": {"description": "Requests that are still admitted now.", **INTEGER},
    "X-RateLimit-Clear": {"description": "Seconds until the limit has fully recovered.", **NUMBER},
    "X-RateLimit-Reset": {"description": "Seconds until this request is admitted.", **NUMBER},
}
COMMON = {
    "X-RateLimit-Limit": {"description": "Size of the limit.", **INTEGER},
    "X-RateLimit-Remaining": {"description": "Requests that are still admitted now.", **INTEGER},
    "X-RateLimit-Reset": {"description": "Time until this request is admitted.", **INTEGER},
}
IETF = {
    "RateLimit-Policy": {"description": "The limits of this request, as structured fields.", **TEXT},
    "RateLimit": {"description": "The state of these limits, as structured fields.", **TEXT},
}
HEADERS = {"x": X, "common": COMMON, "ietf": IETF, "both": {**X, **IETF}, "none": {}}
BODIES: dict[str, dict[str, Any]] = {
    "problem": {"application/problem+json": {"schema": PROBLEM}},
    "json": {"application/json": {"schema": {"type": "object"}}},
    "text": {"text/plain": TEXT},
    "none": {},
}
BODIES["auto"] = {**BODIES["problem"], **BODIES["json"], **BODIES["text"]}


def document(app: Any) -> None:
    """Adds the response 429 to the OpenAPI document of every route that a ``RateLimit`` limits.

    The middleware does it when the application starts; a program that writes the document without starting calls it.
    """
    if app in _documented or not hasattr(app, "openapi"):
        return
    _documented.add(app)
    made = app.openapi
    app.openapi = lambda: _with_refusals(made(), app)


def _with_refusals(schema: dict[str, Any], app: Any) -> dict[str, Any]:
    """Adds the refusals of an application's middleware, as far as its options show."""
    given: dict[str, Any] = {}
    for middleware in getattr(app, "user_middleware", ()):
        if isinstance(middleware.cls, type) and issubclass(middleware.cls, RateLimitMiddleware):
            # Starlette passes on by its place what was given so, behind the application.
            arguments = signature(middleware.cls).bind_partial(None, *middleware.args, **middleware.kwargs).arguments
            given = {**arguments, **middleware.kwargs}
    are_everywhere = given.get("limits") is not None
    refusal = {
        "description": "Too many requests",
        "headers": {**RETRY_AFTER, **HEADERS[given.get("headers") or "common"]},
        "content": {**BODIES[given.get("body") or "auto"]},
    }
    for route in routes_of(app):
        if are_everywhere or Plan(route.dependant, name_of(route.methods, route.path_format), app).limits:
            path = schema.get("paths", {}).get(route.path_format, {})
            for operation in (path[method.lower()] for method in route.methods if method.lower() in path):
                operation.setdefault("responses", {}).setdefault(str(given.get("status") or 429), refusal)
    return schema
