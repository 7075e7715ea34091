"""Errors of a decision as exceptions of a framework, which know their status."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .._errors import LimitError, StoreError, TidegateError

__all__ = ["adopted", "is_of_client", "translated"]

E = TypeVar("E", bound=TidegateError)


def is_of_client(error: TidegateError) -> bool:
    """An actor that no name can be: of the right type, as guards have seen to, but too long or not well-formed.

    A client has sent it, so it is a bad request, and no fault of the program.
    """
    return isinstance(error, LimitError) and error.field == "actor"


def adopted(exception: E, error: TidegateError) -> E:
    """The exception of a framework, with all that the error says.

    Its class is one of ours too, so handlers and ``except`` clauses for that find it as they would find the error.
    """
    exception.args = error.args
    vars(exception).update(vars(error))
    return exception


def translated(
    error: TidegateError, unavailable: Callable[[], StoreError], bad_actor: Callable[[], LimitError]
) -> Exception:
    """The exception of a framework for a failed store, or for an actor that no name can be; any other error stays."""
    if isinstance(error, StoreError):
        return adopted(unavailable(), error)
    return adopted(bad_actor(), error) if is_of_client(error) else error
