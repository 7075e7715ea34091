"""Rate limiting for Flask: an extension, with decorators for views and blueprints.

>>> from flask import Flask
>>> from tidegate.flask import RateLimit
>>> limiter = RateLimit(Flask("shop"), "memory://", default="100/minute")
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar, cast

from flask import Blueprint, Flask, Request, Response, current_app, g, has_request_context, request

from ._errors import ConfigurationError, LimitError, TidegateError
from ._http import GateOptions
from ._tidegate import LimitInfo
from ._web.drive import driven, run
from ._web.flask.commands import commands
from ._web.flask.room import KEY, FlaskRoom, Plan, RateLimited, failure
from ._web.guard import Guard, GuardOptions, Limits, Unpack
from ._web.operate import Operator, Place
from ._web.places import EXEMPT, mark
from ._web.store import MEMORY, OF_MIDDLEWARE, LimiterLike
from ._web.wsgi import EnvironRecord, Settled

if TYPE_CHECKING:

    class _RateLimitOptions(GuardOptions[Request], GateOptions, total=False):
        """Options of the extension."""


__all__ = ["RateLimit", "RateLimited", "info", "settle"]

T = TypeVar("T")

# The request that is served. Its proxy takes as long for one attribute as this for all.
_request: Callable[[], Request] = request._get_current_object  # type: ignore[attr-defined]

# Functions that are looked for in routes. More are made while requests are served.
MOST_LIMITED = 10_000


class RateLimit:
    """Limits the routes of a Flask application.

    ``default`` limits the application, all routes together: a definition, a text, a list of them, or a function of the
    request. The options of limits that stand beside it are its own. What is not given is taken from the application's
    configuration, where ``TIDEGATE_LIMITER`` is the limiter, ``TIDEGATE_DEFAULT`` the default,
    ``TIDEGATE_TRUSTED_PROXIES`` an option.

    >>> from flask import Flask
    >>> from tidegate.flask import RateLimit
    >>> app = Flask("shop")
    >>> limiter = RateLimit(app, "memory://", default="100/minute")
    >>> @app.get("/search")
    ... @limiter.limit("5/minute")
    ... def search():
    ...     return "found"
    >>> app.test_client().get("/search").headers["x-ratelimit-remaining"]
    '4'
    """

    def __init__(
        self,
        app: Flask | None = None,
        limiter: LimiterLike = OF_MIDDLEWARE,
        default: Limits[Request] | None = None,
        **options: Unpack[_RateLimitOptions],
    ) -> None:
        self._given: dict[str, Any] = {**options}
        self._limited: list[tuple[Any, Any]] = []
        """Functions that are limited, each with what the decorator has made of it."""
        if limiter is not OF_MIDDLEWARE:
            self._given["limiter"] = limiter
        if default is not None:
            self._given["default"] = default
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Adds the limits to an application. One extension may serve several of them."""
        if not isinstance(app, Flask):
            kind = type(app).__name__
            raise LimitError(f"app must be a Flask application, got {kind}", "", "app", kind)
        if KEY in app.extensions:
            raise ConfigurationError(f"the application {app.name!r} has a RateLimit already")
        options = {**app.config.get_namespace("TIDEGATE_"), **self._given}
        if "limits" in options:
            raise LimitError("limits is not an option (did you mean default?)", "", "limits", "")
        limiter, default = options.pop("limiter", MEMORY), options.pop("default", None)
        app.extensions[KEY] = App(self, app, FlaskRoom(limiter, default, **options))

    def limit(self, limits: Limits[Request], **options: Unpack[GuardOptions[Request]]) -> Callable[[T], T]:
        """Limits a view, or all views of a blueprint.

        It adds to the default, or with ``override=True`` replaces it. On any other function it limits the calls that
        are made while a request is served.

        >>> from flask import Blueprint
        >>> from tidegate.flask import RateLimit
        >>> limiter = RateLimit()
        >>> api = limiter.limit("1000/hour")(Blueprint("api", "shop"))
        """
        guard = FlaskRoom.guard(limits, **options)

        def decorate(thing: T) -> T:
            if not isinstance(thing, Blueprint):
                original, thing = thing, cast("T", self._wrapped(guard, thing))
                if len(self._limited) < MOST_LIMITED:
                    self._limited.append((original, thing))
            mark(self, thing, guard)
            return thing

        return decorate

    def exempt(self, thing: T) -> T:
        """Takes a view out of all limits, or a blueprint out of those around its views."""
        mark(self, thing, EXEMPT)
        return thing

    def _wrapped(self, guard: Guard[Request], function: Any) -> Any:
        """The function, which decides for itself where the request's route could not know of its limit."""
        if not callable(function):
            raise LimitError(f"limit is for a view or a blueprint, got {function!r}", "", "limits", repr(function))
        is_async = inspect.iscoroutinefunction(function)

        async def limited(*args: Any, **kwargs: Any) -> Any:
            app = self._app()
            response = None if app is None else await app.limit(guard, is_async)
            if response is not None:
                return response
            made = function(*args, **kwargs)
            return await made if is_async else made

        return functools.wraps(function)(driven(limited, is_async))

    def unreached(self, views: Collection[Any]) -> list[str]:
        """Functions that are views, and that are limited only under another name that no route has."""
        reached = {id(view) for view in views}
        bare = reached - {id(made) for _, made in self._limited}
        return [
            getattr(original, "__qualname__", repr(original))
            for original, made in self._limited
            if id(original) in bare and id(made) not in reached
        ]

    def _app(self) -> App | None:
        """The application whose request is served."""
        if not has_request_context():
            return None
        app: App | None = current_app.extensions.get(KEY)
        if app is None or app.owner is not self:
            raise ConfigurationError(f"the application {current_app.name!r} needs init_app of its RateLimit")
        return app


class App:
    """One application with its room."""

    def __init__(self, owner: RateLimit, app: Flask, room: FlaskRoom) -> None:
        self.owner = owner
        self.app = app
        self.room = room
        app.before_request(self.before)
        app.after_request(self.after)
        app.teardown_request(self.teardown)
        app.cli.add_command(commands(Operator(self.room, self.places)))

    def begin(self, asked: Request) -> None:
        """Looks for mistakes before the first request is served; raises for limits that cannot be decided together."""
        self.routes()
        self.room.begin(asked.environ)
        for name in self.owner.unreached(self.app.view_functions.values()):
            self.room.gate.report("limit-not-applied", name)

    def before(self) -> Any:
        """Decides all limits of the route at once."""
        asked = _request()
        if not self.room.begun:
            self.begin(asked)
        record = asked.environ[KEY] = EnvironRecord(self.room)
        plan = self._plan(asked)
        record.seen |= plan.seen
        if asked.method == "OPTIONS" and getattr(plan.rule, "provide_automatic_options", False):
            # Flask answers it, without a view.
            return None
        return run(self._limit(asked, record, plan, plan.guards, False)) if plan.guards else None

    def _plan(self, asked: Request) -> Plan:
        # By the identity of a route's rule, which the plan keeps alive.
        rule = asked.url_rule
        plan: Plan | None = self.room.plans.get(id(rule))
        if plan is None or plan.rule is not rule:
            plan = self.room.plans[id(rule)] = Plan(self.owner, self.app, self.room, rule)
        return plan

    def routes(self) -> list[Plan]:
        """The limits of all routes, and of requests that have none."""
        # Others only redirect or build URLs, so a request has no route there.
        served = [rule for rule in self.app.url_map.iter_rules() if rule.endpoint in self.app.view_functions]
        return [Plan(self.owner, self.app, self.room, rule) for rule in [*served, None]]

    def places(self) -> list[Place]:
        """The same for the commands of an operator."""
        plans = [(plan, plan.route if plan.rule is not None else "any other path") for plan in self.routes()]
        return [Place(title, [(guard, plan.place(guard)) for guard in plan.guards]) for plan, title in plans]

    async def _limit(
        self, asked: Request, record: EnvironRecord, plan: Plan, guards: list[Guard[Request]], waits: bool
    ) -> Any:
        """Decides. The response to a denied request is returned where the user makes it, else raised."""
        try:
            parts = []
            # A comprehension that awaits is one more coroutine, which costs 4 % of all that limits add to a request.
            for guard in guards:
                part = await self.room.part(guard, asked, plan.place(guard))
                if part is not None:
                    parts.append(part)
            if not parts:
                return None
            decision = await self.room.decided(parts, waits)
        except TidegateError as error:
            raise failure(error, self.room.gate) from error.__cause__
        record.add(decision)
        if decision.shadowed:
            await decision.tell_shadowed(asked)
        g.rate_limit = decision.info
        if not decision.blocked:
            return None
        response = await decision.response(asked)
        if response is None:
            raise RateLimited(self.room, record, asked)
        return response

    async def limit(self, guard: Guard[Request], waits: bool) -> Any:
        """Decides a limit that the route did not know of."""
        asked = _request()
        record = _record()
        if record is None or guard in record.seen:
            return None
        record.seen |= {guard}
        return await self._limit(asked, record, self._plan(asked), [guard], waits)

    def after(self, response: Response) -> Response:
        """Puts headers on a response, and settles what it is charged for."""
        record = _record()
        if record is not None and record.decisions:
            # The body of a response to HEAD is not read, so it never ends, and not every server closes it.
            is_stream = response.is_streamed and _request().method != "HEAD"
            try:
                goes_on = record.carry(response, is_stream)
            except BaseException:
                # A timeout of gevent has ended a predicate, and Flask calls nothing more for this response.
                record.close()
                raise
            if goes_on:
                response.response = Settled(response.response, record)
                response.call_on_close(record.close)
            else:
                record.close()
        return response

    def teardown(self, _error: BaseException | None) -> None:
        """Settles a request whose exception was passed on, so that there is no response."""
        record = _record()
        if record is not None and not record.is_judged:
            record.judge(500, Response(status=500))
            record.close()


def _record() -> EnvironRecord | None:
    record: EnvironRecord | None = _request().environ.get(KEY)
    return record


def info() -> LimitInfo | None:
    """The latest answer about the request that is served, also ``g.rate_limit``; ``None`` where nothing limited it."""
    record = _record()
    return None if record is None else record.latest


def settle(cost: int) -> bool:
    """Notes what the request that is served really cost; the difference is charged or given back at its end.

    Call it as often as you know better; the latest number counts. A stream needs ``stream_with_context`` for it. False
    says that no limit was given a ``cost``.
    """
    record = _record()
    return record is not None and record.settle(cost)
