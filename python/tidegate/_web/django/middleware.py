"""Django's middleware."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction

from ..._errors import StoreError
from ..frames import serves
from ..guard import Guard
from ..marks import Mark, applying, marks
from .failure import unavailable
from .room import DjangoGuard, Plan, project
from .serve import begin, finish, finish_async, limit, limit_async, rooms, route_of

__all__ = ["OWNER", "RateLimitMiddleware", "plan_of"]

OWNER = "django"


class RateLimitMiddleware:
    """Limits every request by ``TIDEGATE["LIMITS"]``, and carries the headers of all limits.

    The limits of a view are decided with them, when all middlewares have seen the request: users are known by then,
    wherever in ``MIDDLEWARE`` this one stands. It serves sync and async handlers.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        self.process_view = self._decide_async if self.is_async else self._decide
        # Mistakes in the settings are reported when the server starts.
        project()
        if self.is_async:
            markcoroutinefunction(self)

    @serves
    def __call__(self, request: Any) -> Any:
        """Serves a request, or returns a coroutine that does."""
        if self.is_async:
            return self._serve_async(request)
        record = begin(request)
        record.is_carried = True
        try:
            response = self.get_response(request)
        except BaseException:
            # The client has gone away from an async view, which another middleware has Django serve from this thread.
            # Or the settings have exceptions passed on.
            record.close()
            raise
        default = project().default
        if default is not None and default not in record.seen:
            # There was no view: no route has matched, or a middleware has answered.
            try:
                response = limit(request, record, rooms(record, [default])) or response
            except StoreError:
                response = unavailable()
        return finish(record, response)

    @serves
    async def _serve_async(self, request: Any) -> Any:
        record = begin(request)
        record.is_carried = True
        try:
            response = await self.get_response(request)
            default = project().default
            if default is not None and default not in record.seen:
                try:
                    response = await limit_async(request, record, rooms(record, [default])) or response
                except StoreError:
                    response = unavailable()
            return await finish_async(record, response)
        except BaseException:
            # The client has gone away, or the settings have exceptions passed on.
            await asyncio.shield(record.close_async())
            raise

    def _decide(self, request: Any, view: Any, _args: Any, _kwargs: Any) -> Any:
        record, plan = begin(request), plan_of(view, route_of(request))
        record.seen.update(plan.seen)
        try:
            return limit(request, record, plan.by_store, view) if plan.by_store else None
        except StoreError:
            return unavailable()

    async def _decide_async(self, request: Any, view: Any, _args: Any, _kwargs: Any) -> Any:
        record, plan = begin(request), plan_of(view, route_of(request))
        record.seen.update(plan.seen)
        try:
            return await limit_async(request, record, plan.by_store, view) if plan.by_store else None
        except StoreError:
            return unavailable()

    def process_exception(self, _request: Any, exception: Exception) -> Any:
        """Responds with status 503 where a view met a store that failed, unless a middleware below has responded."""
        return unavailable() if isinstance(exception, StoreError) else None


# More views than an application has are made while it runs.
MOST_VIEWS = 4096


def plan_of(view: Any, route: str | None) -> Plan:
    """The limits of a view; those that are left out are not asked later either."""
    known = project()
    plan = known.plans.get(id(view))
    if plan is None or plan.view is not view:
        outer: list[Mark] = [] if known.default is None else [known.default]
        inner = marks(OWNER, view)
        seen = frozenset(found for found in [*outer, *inner] if isinstance(found, Guard))
        if len(known.plans) >= MOST_VIEWS:
            known.plans.clear()
        guards = cast("list[DjangoGuard]", applying(outer, inner))
        known.check(guards, route)
        plan = known.plans[id(view)] = Plan(view, known.by_store(guards), seen)
    return plan
