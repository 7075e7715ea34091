"""Errors of a decision as Flask's exceptions."""

from __future__ import annotations

from flask import Response, request
from werkzeug.exceptions import HTTPException, ServiceUnavailable

from ..._errors import StoreError, TidegateError
from ..._http import Gate
from ..failure import RequestError, translated
from ..wsgi import accept

__all__ = ["failure"]


class UnavailableError(StoreError, ServiceUnavailable):
    """A ``StoreError`` with status 503."""

    def __init__(self) -> None:
        ServiceUnavailable.__init__(self)


class BadRequestError(RequestError, HTTPException):
    """A ``RequestError`` with its status."""

    def __init__(self, error: RequestError, gate: Gate) -> None:
        rejection = gate.rejection(error.kind, accept(request.environ))
        HTTPException.__init__(self, error.sentence, Response(rejection.body, rejection.status, rejection.headers))
        self.code = rejection.status


def failure(error: TidegateError, gate: Gate) -> Exception:
    """The exception for an error of a decision."""
    return translated(error, UnavailableError, lambda error: BadRequestError(error, gate))
