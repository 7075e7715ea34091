"""Errors of a decision as Flask's exceptions."""

from __future__ import annotations

from werkzeug.exceptions import BadRequest, ServiceUnavailable

from ..._errors import LimitError, StoreError, TidegateError
from ..failure import translated

__all__ = ["failure"]


class UnavailableError(StoreError, ServiceUnavailable):
    """A ``StoreError`` with status 503."""

    def __init__(self) -> None:
        ServiceUnavailable.__init__(self)


class BadActorError(LimitError, BadRequest):
    """A ``LimitError`` with status 400."""

    def __init__(self) -> None:
        BadRequest.__init__(self)


def failure(error: TidegateError) -> Exception:
    """The exception for an error of a decision."""
    return translated(error, UnavailableError, BadActorError)
