"""Errors of a decision: those that a request has caused, and exceptions of a framework, which know their status."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from .._errors import ConfigurationError, LimitError, StoreError, TidegateError
from .._tidegate import _request_error, _request_error_parts

_log = logging.getLogger("tidegate")


class RequestError(LimitError):
    """The error of a request whose key or cost is not usable: the client's mistake, and no fault of the program."""

    kind: str
    """The engine's name of it."""
    status: int
    """The status of the response, 400 or 413."""
    sentence: str
    """The sentence for the client."""


def invalid(error: Exception, kind: str) -> RequestError:
    """The error of a request that a function could not make use of."""
    made = RequestError(str(error), *(getattr(error, name, "") for name in ("key", "field", "value")))
    made.kind, (made.status, made.sentence) = kind, _request_error_parts(kind)
    _log.debug("a request cannot be limited: %s", error)
    return made


def of_peer(error: ConfigurationError, peer: object, forwarded: Iterable[str]) -> Exception:
    """The error for a peer that is no address: the client's mistake where the server has it from a forwarded header."""
    is_written = isinstance(peer, str) and peer != "" and any(peer in line for line in forwarded)
    return invalid(error, "key") if is_written else error


def by_request(error: LimitError, has_chosen_cost: bool) -> LimitError:
    """The error of the request, where that has chosen what is at fault; else the error itself."""
    kind = None if isinstance(error, RequestError) else _request_error(error.field, error.value)
    if kind is None or (error.field == "cost" and not has_chosen_cost):
        return error
    return invalid(error, kind)


async def asked(function: Callable[[Any], Any], request: Any, kind: str) -> Any:
    """The key or cost of a request. One that a function cannot read is the client's mistake."""
    try:
        value = function(request)
        return await value if hasattr(value, "__await__") else value
    except Exception as error:
        # Libraries that validate have a class of this name, and nearly all derive it of ValueError.
        is_invalid = isinstance(error, ValueError) or type(error).__name__.endswith("ValidationError")
        if not is_invalid or isinstance(error, TidegateError):
            raise
        raise invalid(error, kind) from error


@cache
def _both(ours: Any, theirs: Any) -> Any:
    return type(theirs.__name__, (ours, theirs), {"__module__": theirs.__module__})


def adopted(exception: Exception, error: TidegateError) -> Exception:
    """The exception of a framework, with all that the error says.

    Its class is one of ours too, so handlers and ``except`` clauses for that find it as they would find the error.
    """
    theirs: Any = type(exception)
    both = _both(StoreError if isinstance(error, StoreError) else RequestError, theirs)
    # What the framework's own would be made of is in it already, and ours may be made of something else.
    made: Exception = both.__new__(both)
    made.args = error.args
    vars(made).update({**vars(exception), **vars(error)})
    return made


def translated(
    error: TidegateError, unavailable: Callable[[], Exception], bad_request: Callable[[RequestError], Exception]
) -> Exception:
    """The exception of a framework for a failed store or a request that cannot be decided; any other error stays."""
    if isinstance(error, StoreError):
        return adopted(unavailable(), error)
    return adopted(bad_request(error), error) if isinstance(error, RequestError) else error
