"""Errors of a decision as FastAPI's exceptions."""

from __future__ import annotations

import fastapi

from ..._errors import LimitError, StoreError, TidegateError
from ..asgi.connection import Scope
from ..failure import translated

__all__ = ["failure"]


class UnavailableError(StoreError, fastapi.HTTPException):
    """A ``StoreError`` with status 503."""

    def __init__(self) -> None:
        fastapi.HTTPException.__init__(self, 503)


class BadActorError(LimitError, fastapi.HTTPException):
    """A ``LimitError`` with status 400."""

    def __init__(self) -> None:
        fastapi.HTTPException.__init__(self, 400)


def failure(error: TidegateError, scope: Scope) -> Exception:
    """The exception for an error of a decision. A websocket has no status."""
    return translated(error, UnavailableError, BadActorError) if scope["type"] == "http" else error
