"""The room of a Flask application, and the limits of its routes."""

from __future__ import annotations

from itertools import accumulate
from operator import attrgetter
from typing import Any

from flask import Flask, Request, Response
from werkzeug.exceptions import TooManyRequests

from ..._tidegate import LimitInfo
from ..guard import Guard
from ..marks import Mark, applying, marks
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
    failure = staticmethod(failure)


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

    __slots__ = ("guards", "route", "rule", "seen")

    def __init__(self, owner: object, app: Flask, default: Guard[Request] | None, rule: Any) -> None:
        self.rule = rule
        self.route = ""
        outer: list[Mark] = [] if default is None else [default]
        inner: list[Mark] = []
        if rule is not None:
            methods = set(rule.methods or ())
            self.route = f"{','.join(sorted(methods - {'HEAD', 'OPTIONS'} or methods))} {rule.rule}"
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
