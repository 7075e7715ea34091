"""The template of a path: a key of limits that a client cannot vary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

__all__ = ["template"]


def template(path: str, params: Mapping[str, Any]) -> str:
    """A path with its parameters by name, whose values are given.

    >>> from tidegate._web.asgi.template import template
    >>> template("/shops/007/items", {"shop": 7})
    '/shops/{shop}/items'
    """
    if not params:
        return path
    for name, value in params.items():
        if isinstance(value, str) and "/" in value:
            path = f"{path}/".replace(f"/{value}/", f"/{{{name}}}/")[:-1]
    named = [(f"{{{name}}}", value) for name, value in params.items()]
    return "/".join(
        next((name for name, value in named if _stands_for(segment, value)), segment) for segment in path.split("/")
    )


def _stands_for(segment: str, value: object) -> bool:
    """True if a segment of a path was read as this value: there are many ways to write one number."""
    if isinstance(value, int | float | UUID):
        try:
            return type(value)(segment) == value
        except ValueError:
            return False
    return segment == value
