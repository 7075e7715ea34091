"""Errors of a decision as responses of Django's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import BadRequest
from django.http import HttpResponse

from ..failure import RequestError
from ..wsgi import accept

if TYPE_CHECKING:
    from .room import DjangoRecord

__all__ = ["BadRequestError", "rejected", "unavailable"]


class BadRequestError(RequestError, BadRequest):  # type: ignore[misc]
    """A ``RequestError`` that Django answers with status 400, for limits that have no response of their own."""


def unavailable() -> HttpResponse:
    """The response where the store failed."""
    return HttpResponse(b"Service Unavailable", status=503, content_type="text/plain; charset=utf-8")


def rejected(error: RequestError, request: Any, record: DjangoRecord) -> HttpResponse:
    """The response to a request that cannot be decided."""
    rejection = record.room.gate.rejection(error.kind, accept(request.META))
    return HttpResponse(rejection.body, status=rejection.status, headers=dict(rejection.headers))
