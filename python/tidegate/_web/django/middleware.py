"""Django's middleware."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpResponse

from ..._errors import StoreError
from ..drive import driven, run
from ..frames import serves
from .room import DjangoRecord, project
from .serve import begin, finish, limit, rooms, route_of


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
        self.process_view = driven(self._decide, self.is_async)
        # Mistakes in the settings are reported when the server starts.
        project()
        if self.is_async:
            markcoroutinefunction(self)

    @serves
    def __call__(self, request: Any) -> Any:
        """Serves a request, or returns a coroutine that does."""
        if self.is_async:
            return self._serve(request)
        record = self._begin(request)
        try:
            return run(self._finish(request, record, self.get_response(request)))
        except BaseException:
            # The settings have exceptions passed on.
            record.close()
            raise

    @serves
    async def _serve(self, request: Any) -> Any:
        record = self._begin(request)
        try:
            return await self._finish(request, record, await self.get_response(request))
        except BaseException:
            # The client has gone away, also from an async view that another middleware has Django serve from this
            # thread.
            await asyncio.shield(record.end(True))
            raise

    def _begin(self, request: Any) -> DjangoRecord:
        record = begin(request)
        record.is_carried = True
        return record

    async def _finish(self, request: Any, record: DjangoRecord, response: Any) -> Any:
        default = project().default
        if default is not None and default not in record.seen:
            # There was no view: no route has matched, or a middleware has answered.
            try:
                refusal = await limit(request, record, rooms(record, [default]), None, self.is_async)
            except StoreError:
                refusal = _unavailable()
            if refusal is not None:
                # Closed with it: what closes a response by itself tells Django that the request has ended.
                refusal._resource_closers += response._resource_closers
                response = refusal
        return await finish(record, response, self.is_async)

    async def _decide(self, request: Any, view: Any, _args: Any, _kwargs: Any) -> Any:
        record = begin(request)
        plan = project().plan(view, partial(route_of, request, record))
        record.seen.update(plan.seen)
        try:
            return await limit(request, record, plan.by_store, view, self.is_async)
        except StoreError:
            return _unavailable()

    def process_exception(self, _request: Any, exception: Exception) -> Any:
        """Responds with status 503 where a view met a store that failed, unless a middleware below has responded."""
        return _unavailable() if isinstance(exception, StoreError) else None


def _unavailable() -> HttpResponse:
    return HttpResponse(b"Service Unavailable", status=503, content_type="text/plain; charset=utf-8")
