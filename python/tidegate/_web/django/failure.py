"""Errors of a decision as responses and exceptions of Django's."""

from __future__ import annotations

from django.core.exceptions import BadRequest
from django.http import HttpResponse

from ..._errors import LimitError, TidegateError
from ..failure import adopted, is_of_client

__all__ = ["failure", "unavailable"]


class BadActorError(LimitError, BadRequest):  # type: ignore[misc]
    """A ``LimitError`` that Django answers with status 400."""


def failure(error: TidegateError) -> Exception:
    """The exception for an error of a decision. Django has none with status 503."""
    return adopted(BadActorError(""), error) if is_of_client(error) else error


def unavailable() -> HttpResponse:
    """The response where the store failed."""
    return HttpResponse(b"Service Unavailable", status=503, content_type="text/plain; charset=utf-8")
