"""Errors of a decision as FastAPI's exceptions."""

from __future__ import annotations

import fastapi

from ..._errors import LimitError, StoreError, TidegateError
from ..asgi.connection import Scope
from ..failure import adopted, is_of_client

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
    if scope["type"] != "http":
        return error
    if isinstance(error, StoreError):
        return adopted(UnavailableError(), error)
    return adopted(BadActorError(), error) if is_of_client(error) else error
