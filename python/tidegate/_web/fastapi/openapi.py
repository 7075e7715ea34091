"""The 429 in an application's OpenAPI document."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from .plan import Plan, routes_of

__all__ = ["document"]

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
INTEGER = {"schema": {"type": "integer", "minimum": 0}}
NUMBER = {"schema": {"type": "number", "minimum": 0}}
HEADERS = {
    "Retry-After": {"description": "Seconds until this request is admitted.", **INTEGER},
    "X-RateLimit-Remaining": {"description": "Requests that are still admitted now.", **INTEGER},
    "X-RateLimit-Clear": {"description": "Seconds until the limit has fully recovered.", **NUMBER},
    "X-RateLimit-Reset": {"description": "Seconds until this request is admitted.", **NUMBER},
}
RESPONSE = {
    "description": "Too many requests",
    "headers": HEADERS,
    "content": {
        "application/problem+json": {"schema": PROBLEM},
        "text/plain": {"schema": {"type": "string"}},
    },
}


def document(app: Any) -> None:
    """Adds the response 429 to the OpenAPI document of every route that a ``RateLimit`` limits.

    The middleware does it when the application starts; a program that writes the document without starting calls it.
    """
    if app in _documented or not hasattr(app, "openapi"):
        return
    _documented.add(app)
    made = app.openapi

    def openapi() -> dict[str, Any]:
        schema: dict[str, Any] = made()
        _add(schema, app)
        return schema

    app.openapi = openapi


def _add(schema: dict[str, Any], app: Any) -> None:
    for route in routes_of(app):
        if not Plan(route.dependant, "").limits:
            continue
        path = schema.get("paths", {}).get(route.path_format, {})
        for method in route.methods:
            operation = path.get(method.lower())
            if operation is not None:
                operation.setdefault("responses", {}).setdefault("429", RESPONSE)
