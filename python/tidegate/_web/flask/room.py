"""The room of a Flask application, and the limits of its routes."""

from __future__ import annotations

from itertools import accumulate
from operator import attrgetter
from typing import Any

from flask import Flask, Request, Response
from werkzeug.exceptions import TooManyRequests

from ..._errors import TidegateError
from ..._tidegate import LimitInfo
from ..guard import Guard
from ..marks import Mark, applying, marks
from ..names import APP, check_together, route_name, template
from ..wsgi import EnvironRecord, EnvironRoom, accept
from .failure import failure

__all__ = ["KEY", "FlaskRecord", "FlaskRoom", "Plan", "RateLimited"]

KEY = "tidegate"
"""The name of the record in an environ, and of the room among an application's extensions."""


class FlaskRoom(EnvironRoom[Request]):
    """Clients and headers of Flask's requests."""

    kind = "flask"
    limits = "default"
    environ = attrgetter("environ")

    def failure(self, error: TidegateError) -> Exception:
        """The exception of Flask for an error of a decision."""
        return failure(error, self.gate)


class RateLimited(TooManyRequests):
    """A denied request. Handlers of 429 and of this class make the response instead, where there are any."""

    description = "Rate limit exceeded."

    def __init__(self, room: FlaskRoom, record: EnvironRecord, request: Request) -> None:
        refusal = room.gate.refusal(record.infos, accept(request.environ))
        super().__init__(self.description, Response(refusal.body, refusal.status, refusal.headers))
        self.info: LimitInfo = record.decisions[-1].info
        """The answer."""
        self.retry_after: int = refusal.retry_after
        """The seconds until the request would be admitted."""


class FlaskRecord(EnvironRecord):
    """The decision about one request."""

    __slots__ = ("is_judged", "seen")

    def __init__(self, room: FlaskRoom) -> None:
        super().__init__(room)
        self.seen: set[Guard[Request]] = set()
        """Guards that have been asked, or that do not apply."""
        self.is_judged = False


class Plan:
    """The limits of one route: those that are decided together, and those that do not apply."""

    __slots__ = ("default", "guards", "route", "rule", "seen")

    def __init__(self, owner: object, app: Flask, default: Guard[Request] | None, rule: Any) -> None:
        self.rule = rule
        self.default = default
        self.route = APP
        """The name of the route; that of the application where no route has matched."""
        outer: list[Mark] = [] if default is None else [default]
        inner: list[Mark] = []
        if rule is not None:
            self.route = route_name(list(rule.methods or ()), template(rule.rule, "angles"))
            around, _, name = rule.endpoint.rpartition(".")
            # A blueprint within another has the other's name in its own.
            names = [part for part in accumulate(around.split("."), "{}.{}".format) if part in app.blueprints]
            for blueprint in names:
                outer += marks(owner, app.blueprints[blueprint])
            inner = marks(owner, app.view_functions[rule.endpoint])
            if name == "static":
                outer = []
        every = [mark for mark in outer + inner if isinstance(mark, Guard)]
        self.guards: list[Guard[Request]] = applying(outer, inner)
        self.seen = frozenset(every)
        check_together((guard, self.place(guard)) for guard in self.guards)

    def place(self, guard: Guard[Request]) -> str:
        """The name of what a guard limits."""
        return APP if guard is self.default else self.route
