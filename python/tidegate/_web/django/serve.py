"""Deciding requests of Django, and finishing their responses."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, Sequence
from functools import lru_cache
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.dispatch import Signal
from django.http import HttpResponse
from django.utils.translation import get_language

from ..decision import Decision
from ..failure import RequestError
from ..guard import Part
from ..names import template
from ..wsgi import Settled, accept
from .failure import rejected
from .room import UNKNOWN, ByStore, DjangoGuard, DjangoRecord, DjangoRoom, project, record_of

__all__ = [
    "begin",
    "decide",
    "decide_async",
    "find_user",
    "finish",
    "finish_async",
    "limit",
    "limit_async",
    "rate_limited",
    "rooms",
    "route_of",
]

rate_limited = Signal()
"""Sent for each request that is denied, with ``request`` and ``info``; the sender is the view's function or class."""


def begin(request: Any) -> DjangoRecord:
    """The record of a request, which is made when it is first asked for."""
    record = record_of(request)
    if record is None:
        room = project().room
        record = DjangoRecord(room)
        getattr(request, "_request", request)._tidegate = record
        if not room.begun:
            room.begin(request.META)
    return record


def route_of(request: Any) -> str | None:
    """The template of the route; ``None`` where none has matched.

    Without the language of ``i18n_patterns``: a client has one limit, not one in each language.
    """
    match = request.resolver_match
    if match is None:
        return None
    route: str = match.route
    if settings.USE_I18N and is_language_prefix_patterns_used(getattr(request, "urlconf", settings.ROOT_URLCONF))[0]:
        route = route.removeprefix(f"{get_language() or settings.LANGUAGE_CODE}/")
    return _template(route)


@lru_cache(4096)
def _template(route: str) -> str:
    return template(route, "angles")


def rooms(record: DjangoRecord, guards: Sequence[DjangoGuard]) -> ByStore:
    """The rooms that decide these limits, which are not asked again for this request."""
    record.seen.update(guards)
    return project().by_store(guards)


def decide(request: Any, record: DjangoRecord, by_store: ByStore, view: Any = None) -> Decision | None:
    """Decides in this thread. The decision that denies the request, else ``None``."""
    known, route = project(), route_of(request)
    for room, guards in by_store:
        if any(guard.is_async for guard in guards):
            # As Django itself calls an async view from a thread.
            parts: list[Part] = async_to_sync(_parts_async)(request, record, room, guards)
        else:
            parts = [part for guard in guards if (part := room.part(guard, request, known.place(guard, route)))]
        if parts:
            decision = room.decide(parts)
            for owner, info in decision.shadowed:
                owner.on_blocked(request, info)
            if _keep(request, record, decision):
                rate_limited.send(_sender(view), request=request, info=decision.info)
                return decision
    return None


def limit(request: Any, record: DjangoRecord, by_store: ByStore, view: Any = None) -> Any:
    """Decides in this thread. The response to a denied request, else ``None``."""
    try:
        decision = decide(request, record, by_store, view)
    except RequestError as error:
        return rejected(error, request, record)
    if decision is None:
        return None
    response = _own(request, decision)
    return _refusal(request) if response is None else response


async def find_user(request: Any, record: DjangoRecord) -> None:
    """Finds the user without blocking the event loop."""
    if hasattr(request, "auser"):
        user = await request.auser()
        record.user = user.pk if user.is_authenticated else None


async def _parts_async(
    request: Any, record: DjangoRecord, room: DjangoRoom, guards: Sequence[DjangoGuard]
) -> list[Part]:
    known, route = project(), route_of(request)
    parts: list[Part] = []
    for guard in guards:
        if record.user is UNKNOWN and guard.key_name.startswith("user"):
            await find_user(request, record)
        part = await room.part_async(guard, request, known.place(guard, route))
        if part is not None:
            parts.append(part)
    return parts


async def decide_async(request: Any, record: DjangoRecord, by_store: ByStore, view: Any = None) -> Decision | None:
    """The same without blocking the event loop."""
    for room, guards in by_store:
        parts = await _parts_async(request, record, room, guards)
        if not parts:
            continue
        decision = await room.decide_async(parts)
        for owner, info in decision.shadowed:
            told = owner.on_blocked(request, info)
            if inspect.isawaitable(told):
                await told
        if _keep(request, record, decision):
            await rate_limited.asend(_sender(view), request=request, info=decision.info)
            return decision
    return None


async def limit_async(request: Any, record: DjangoRecord, by_store: ByStore, view: Any = None) -> Any:
    """The response to a denied request, else ``None``, without blocking the event loop."""
    try:
        decision = await decide_async(request, record, by_store, view)
    except RequestError as error:
        return rejected(error, request, record)
    if decision is None:
        return None
    response = _own(request, decision)
    if inspect.isawaitable(response):
        response = await response
    return _refusal(request) if response is None else response


def _sender(view: Any) -> Any:
    return getattr(view, "view_class", view)


def _keep(request: Any, record: DjangoRecord, decision: Decision) -> bool:
    record.add(decision)
    # That of REST framework looks here too.
    getattr(request, "_request", request).rate_limit = decision.info
    return decision.blocked


def _own(request: Any, decision: Decision) -> Any:
    on_blocked = decision.deciding.guard.on_blocked
    return None if on_blocked is None else on_blocked(request, decision.info)


def _refusal(request: Any) -> HttpResponse:
    record = begin(request)
    refusal = record.room.gate.refusal(record.infos, accept(request.META))
    return HttpResponse(refusal.body, status=refusal.status, headers=dict(refusal.headers))


def _carry(record: DjangoRecord, response: Any) -> bool:
    """Writes the headers, and notes what is not charged. False where a stream settles later, or nothing does."""
    blocked = record.decisions[-1].blocked
    for name, value in record.room.gate.headers(record.infos, response.status_code):
        # A refusal has them already, and so have the responses of other middlewares that set them.
        if not blocked or name not in response:
            response[name] = value
    record.judge(response.status_code, response)
    if not response.streaming or blocked or not record.may_settle:
        return True
    parts = response.streaming_content
    response.streaming_content = SettledAsync(parts, record) if response.is_async else Settled(parts, record)
    return False


def finish(record: DjangoRecord, response: Any) -> Any:
    """Puts headers on a response, and settles what it is charged for."""
    if record.decisions and _carry(record, response):
        record.close()
    return response


async def finish_async(record: DjangoRecord, response: Any) -> Any:
    """The same without blocking the event loop."""
    if record.decisions and _carry(record, response):
        await record.close_async()
    return response


class SettledAsync:
    """The body of an async stream. It is settled behind its last part, and when it breaks off."""

    def __init__(self, parts: AsyncIterable[Any], record: DjangoRecord) -> None:
        self._iterator = aiter(parts)
        self._record = record

    def __aiter__(self) -> SettledAsync:
        return self

    async def __anext__(self) -> Any:
        try:
            return await anext(self._iterator)
        except BaseException:
            # The end is an exception too, and one that cancels must not cancel this.
            await asyncio.shield(self._record.close_async())
            raise

    def close(self) -> None:
        """Called by Django in a thread, when the response is closed."""
        self._record.close()
