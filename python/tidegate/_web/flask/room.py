"""The room of a Flask application, and the limits of its routes."""

from __future__ import annotations

from itertools import accumulate
from operator import attrgetter
from typing import Any

from flask import Flask, Request, Response, request
from werkzeug.exceptions import HTTPException, ServiceUnavailable, TooManyRequests

from ..._errors import LimitError, TidegateError
from ..._http import Gate
from ..._tidegate import _APP, LimitInfo, _route_name, _template
from ..failure import RequestError, translated
from ..guard import Guard, Limits
from ..places import applying, check_together, marks
from ..wsgi import EnvironRecord, EnvironRoom

KEY = "tidegate"
"""The name of the record in an environ, and of the room among an application's extensions."""


class FlaskRoom(EnvironRoom[Request]):
    """Clients and headers of Flask's requests."""

    kind = "flask"
    limits = "default"
    environ = attrgetter("environ")

    @classmethod
    def guard(cls, limits: Limits[Any], **options: Any) -> Any:
        """Limits that a thread can ask for."""
        guard = super().guard(limits, **options)
        if guard.is_async:
            raise LimitError("Flask asks for limits in a thread, got a coroutine function", "", "limits", "")
        return guard


class RateLimited(TooManyRequests):
    """A denied request. Handlers of 429 and of this class make the response instead, where there are any."""

    description = "Rate limit exceeded."

    def __init__(self, room: FlaskRoom, record: EnvironRecord, request: Request) -> None:
        refusal = room.gate.refusal(record.infos, request.environ.get("HTTP_ACCEPT"))
        super().__init__(self.description, Response(refusal.body, refusal.status, refusal.headers))
        self.info: LimitInfo = record.decisions[-1].info
        """The answer."""
        self.retry_after: int = refusal.retry_after
        """The seconds until the request would be admitted."""


def failure(error: TidegateError, gate: Gate) -> Exception:
    """The exception for an error of a decision."""

    def rejected(error: RequestError) -> HTTPException:
        rejection = gate.rejection(error.kind, request.environ.get("HTTP_ACCEPT"))
        made = HTTPException(error.sentence, Response(rejection.body, rejection.status, rejection.headers))
        made.code = rejection.status
        return made

    return translated(error, ServiceUnavailable, rejected)


class Plan:
    """The limits of one route: those that are decided together, and those that do not apply."""

    def __init__(self, owner: object, app: Flask, room: FlaskRoom, rule: Any) -> None:
        self.rule = rule
        self.default = default = room.default
        self.route = _APP
        """The name of the route; that of the application where no route has matched."""
        outer: list[object] = [default]
        inner: list[object] = []
        if rule is not None:
            self.route = _route_name(list(rule.methods or ()), _template(rule.rule, "angles"))
            around, _, name = (rule.endpoint or "").rpartition(".")
            # A blueprint within another has the other's name in its own.
            for blueprint in accumulate(around.split("."), "{}.{}".format):
                outer += marks(owner, app.blueprints.get(blueprint))
            inner = marks(owner, app.view_functions.get(rule.endpoint))
            if name == "static":
                outer = []
        self.guards, self.seen = applying(outer, inner)
        check_together((guard, self.place(guard)) for guard in self.guards)

    def place(self, guard: Guard[Request]) -> str:
        return _APP if guard is self.default else self.route
