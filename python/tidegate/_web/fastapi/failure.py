"""Errors of a decision as FastAPI's exceptions."""

from __future__ import annotations

from typing import Any

import fastapi

from ..._errors import StoreError, TidegateError
from ..asgi.connection import Scope
from ..asgi.room import AsgiRoom, accept
from ..failure import RequestError, translated
from .refusal import register

__all__ = ["failure"]


class UnavailableError(StoreError, fastapi.HTTPException):
    """A ``StoreError`` with status 503."""

    def __init__(self) -> None:
        fastapi.HTTPException.__init__(self, 503)


class BadRequestError(RequestError, fastapi.HTTPException):
    """A ``RequestError`` with its status, and the response that the middleware would send."""

    def __init__(self, error: RequestError, room: AsgiRoom[Any], scope: Scope) -> None:
        rejection = room.gate.rejection(error.kind, accept(scope))
        fields = {name: value for name, value in rejection.headers if not name.lower().startswith("content-")}
        fastapi.HTTPException.__init__(self, rejection.status, error.sentence, fields)
        self.body, self.media_type = rejection.body, rejection.media_type


def failure(error: TidegateError, room: AsgiRoom[Any], scope: Scope) -> Exception:
    """The exception for an error of a decision. A websocket has no status."""
    if scope["type"] != "http":
        return error
    register(scope, BadRequestError)
    return translated(error, UnavailableError, lambda error: BadRequestError(error, room, scope))
