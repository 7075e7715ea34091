"""Django's middleware."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpResponse

from ..._errors import StoreError
from ..drive import run
from ..frames import serves
from .room import ByStore, DjangoGuard, DjangoRecord, project
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
        self.process_view = self._decide_later if self.is_async else self._decide
        # Mistakes in the settings are reported when the server starts.
        project()
        if self.is_async:
            markcoroutinefunction(self)

    # A request that is served within a coroutine, or decided and finished in one more, costs a tenth more of all that
    # limits add to it.
    @serves
    def __call__(self, request: Any) -> Any:
        """Serves a request, or returns a coroutine that does."""
        if self.is_async:
            return self._serve(request)
        record = self._begin(request)
        try:
            response = self.get_response(request)
            default = project().default
            if default is not None and default not in record.seen:
                response = run(self._without_view(request, record, default, response))
            if finish(record, response):
                record.close()
            return response
        except BaseException:
            # The settings have exceptions passed on.
            record.close()
            raise

    @serves
    async def _serve(self, request: Any) -> Any:
        record = self._begin(request)
        try:
            response = await self.get_response(request)
            default = project().default
            if default is not None and default not in record.seen:
                response = await self._without_view(request, record, default, response)
            if finish(record, response):
                await record.end(True)
            return response
        except BaseException:
            # The client has gone away, also from an async view that another middleware has Django serve from this
            # thread.
            await asyncio.shield(record.end(True))
            raise

    def _begin(self, request: Any) -> DjangoRecord:
        record = begin(request)
        record.is_carried = True
        return record

    async def _without_view(self, request: Any, record: DjangoRecord, default: DjangoGuard, response: Any) -> Any:
        """Decides where no route has matched, or another middleware has responded."""
        refusal = await self._limited(request, record, rooms(record, (default,)), None)
        if refusal is None:
            return response
        # Closed with it: what closes a response by itself tells Django that the request has ended.
        refusal._resource_closers += response._resource_closers
        return refusal

    def _decide(self, request: Any, view: Any, _args: Any, _kwargs: Any) -> Any:
        return run(self._limit(request, view))

    async def _decide_later(self, request: Any, view: Any, _args: Any, _kwargs: Any) -> Any:
        return await self._limit(request, view)

    def _limit(self, request: Any, view: Any) -> Coroutine[Any, Any, Any]:
        record = begin(request)
        plan = project().plan(view, partial(route_of, request, record))
        record.seen |= plan.seen
        return self._limited(request, record, plan.by_store, view)

    async def _limited(self, request: Any, record: DjangoRecord, by_store: ByStore, view: Any) -> Any:
        try:
            return await limit(request, record, by_store, view, self.is_async)
        except StoreError:
            return _unavailable()

    def process_exception(self, _request: Any, exception: Exception) -> Any:
        """Responds with status 503 where a view met a store that failed, unless a middleware below has responded."""
        return _unavailable() if isinstance(exception, StoreError) else None


def _unavailable() -> HttpResponse:
    return HttpResponse(b"Service Unavailable", status=503, content_type="text/plain; charset=utf-8")
