"""Rate limiting for Django REST framework: a throttle class. The stores are those of ``tidegate.django``.

>>> from tidegate.drf import RateLimitThrottle
>>> class Burst(RateLimitThrottle):
...     limits = ["10/second", "1000/day"]
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar

from rest_framework.exceptions import APIException
from rest_framework.throttling import BaseThrottle

from ._errors import LimitError, TidegateError
from ._tidegate import LimitInfo
from ._web.decision import unreleased
from ._web.django.room import DEFAULT, DjangoGuard, DjangoRoom
from ._web.django.serve import begin, decide, rooms
from ._web.drive import run
from ._web.failure import RequestError, translated
from ._web.guard import GuardOptions, Limits

__all__ = ["RateLimitThrottle"]


class RateLimitThrottle(BaseThrottle):
    """Limits of the views that name this class, decided at once.

    They are shared by all of those views, as the rates of REST framework's own throttles are. All such throttles that
    a view's ``get_throttles`` returns for a request are one decision, for which it is called a second time. Headers are
    on the view's responses, with the middleware or without it. ``cost``, ``factor``, ``skip``, ``charge_on`` (which
    needs the middleware), ``shadow`` and ``candidate`` are options of ``rate_limit``.
    """

    limits: ClassVar[Limits[Any] | None] = None
    """A definition, a text, a list of them, or a function of the request."""
    using: ClassVar[str] = DEFAULT
    """The name of the store in the settings."""
    name: ClassVar[str | None] = None
    """The key of limits as text; the name of the class unless given."""
    key: ClassVar[Any] = "user_or_ip"
    """The actor: ``"user_or_ip"``, ``"ip"``, ``"header:NAME"``, or a function of the request."""
    cost: ClassVar[Any] = None
    factor: ClassVar[Any] = None
    skip: ClassVar[Any] = None
    charge_on: ClassVar[Any] = None
    shadow: ClassVar[Any] = None
    candidate: ClassVar[Any] = None

    guard: ClassVar[DjangoGuard | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.limits is None:
            return
        names = GuardOptions.__annotations__.keys() - {"override", "on_blocked"}
        given = {name: getattr(cls, name) for name in names}
        guard = DjangoRoom.guard(cls.limits, using=cls.using, **{**given, "name": cls.name or cls.__name__})
        # Another class may have the same name by accident.
        guard.derives = cls.name is None and (guard.has_texts or guard.limits is not None)
        cls.guard = guard

    def __init__(self) -> None:
        if self.guard is None:
            # One without limits would let all requests pass.
            name = type(self).__name__
            raise LimitError(f"{name} needs limits, such as limits = '100/minute'", "", "limits", "None")
        self.info: LimitInfo | None = None

    def allow_request(self, request: Any, view: Any) -> bool:
        """Decides, with all throttles of this kind that the view asks for."""
        guard = self.guard
        assert guard is not None
        record = begin(request)
        if guard not in record.seen:
            # Those of this request: a view may choose them in `get_throttles`.
            others = [getattr(other, "guard", None) for other in view.get_throttles()]
            found = [other for other in others if isinstance(other, DjangoGuard) and other not in record.seen]
            by_store = rooms(record, tuple(found) if guard in found else (guard,))
            try:
                denied = run(decide(request, record, by_store, type(view), False))
            except TidegateError as error:
                raise translated(error, _unavailable, _rejected) from error.__cause__
            if denied is not None or not record.is_carried:
                _carry(view, record, denied is not None)
        for decision in record.decisions:
            answer = decision.answer(guard)
            if answer is not None:
                self.info = answer
                return not answer.blocked
        return True

    def wait(self) -> float | None:
        """The seconds until a request would be admitted."""
        return None if self.info is None or not self.info.blocked else self.info.reset_ms / 1000


def _unavailable() -> APIException:
    status = HTTPStatus.SERVICE_UNAVAILABLE
    return _with_status(status, status.phrase, "service_unavailable")


def _rejected(error: RequestError) -> APIException:
    return _with_status(error.status, error.sentence, "bad_request")


def _with_status(status: int, detail: str, code: str) -> APIException:
    exception = APIException(detail, code)
    exception.status_code = status
    return exception


def _carry(view: Any, record: Any, denied: bool) -> None:
    """Puts headers on the view's response, whatever it will be."""
    gate = record.room.gate
    if record.waits and not denied and not any(decision.holds for decision in record.decisions):
        gate.report("middleware-missing", "charge_on is not asked without it")
    fields = gate.refusal(record.infos).headers if denied else gate.headers(record.infos)
    # REST framework says the longest wait of all throttles, with those that are not of this kind.
    view.headers.update((name, value) for name, value in fields if name not in ("Content-Type", "Retry-After"))
    record.close()
    if not record.is_carried and any(decision.holds and not decision.blocked for decision in record.decisions):
        raise unreleased("tidegate.django.RateLimitMiddleware")
