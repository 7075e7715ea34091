"""Deciding requests of Django, and finishing their responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Sequence
from functools import lru_cache, partial
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.dispatch import Signal
from django.http import Http404, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.utils.translation import get_language

from ..._tidegate import _template
from ..decision import Decision
from ..drive import value_of
from ..failure import RequestError
from ..guard import Part
from ..wsgi import Settled
from .room import UNKNOWN, ByStore, DjangoGuard, DjangoRecord, DjangoRoom, project, record_of

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


def route_of(request: Any, record: DjangoRecord) -> str | None:
    """The template of the route; ``None`` where none has matched.

    Without the language of ``i18n_patterns``: a client has one limit, not one in each language.
    """
    if record.route is not None:
        return record.route
    match = request.resolver_match
    if match is None:
        return None
    route: str = match.route
    if is_language_prefix_patterns_used(getattr(request, "urlconf", None) or settings.ROOT_URLCONF)[0]:
        route = route.removeprefix(f"{get_language() or settings.LANGUAGE_CODE}/")
    record.route = _template_of(route, "angles")
    return record.route


_template_of = lru_cache(4096)(_template)


def rooms(record: DjangoRecord, guards: tuple[DjangoGuard, ...]) -> ByStore:
    """The rooms that decide these limits, which are not asked again for this request."""
    record.seen = record.seen.union(guards)
    return project().by_store(guards)


async def find_user(request: Any, record: DjangoRecord) -> None:
    """Finds the user without blocking the event loop."""
    if hasattr(request, "auser"):
        user = await request.auser()
        record.user = user.pk if user.is_authenticated else None


async def _parts(
    request: Any, record: DjangoRecord, room: DjangoRoom, guards: Sequence[DjangoGuard], waits: bool
) -> list[Part]:
    known, route = project(), partial(route_of, request, record)
    parts: list[Part] = []
    for guard in guards:
        if waits and record.user is UNKNOWN and guard.key_name.startswith("user"):
            await find_user(request, record)
        if part := await room.part(guard, request, known.place(guard, route)):
            parts.append(part)
    return parts


async def _called(function: Any, runs: bool, *given: Any) -> Any:
    """Waits for a coroutine function; where no event loop runs, as Django itself calls an async view from a thread."""
    return await function(*given) if runs else async_to_sync(function)(*given)


async def decide(request: Any, record: DjangoRecord, by_store: ByStore, view: Any, waits: bool) -> Decision | None:
    """Decides without blocking the event loop, or in this thread. Returns the decision that denies, else ``None``."""
    for room, guards, are_by_address in by_store:
        runs = waits or are_by_address or not any(guard.is_async for guard in guards)
        if are_by_address:
            # Most are, and without a coroutine limits add 7 % less to a request.
            known, route = project(), partial(route_of, request, record)
            parts = [room.part_of_client(guard, request, known.place(guard, route)) for guard in guards]
        else:
            parts = await _called(_parts, runs, request, record, room, guards, waits or not runs)
        if not parts:
            continue
        decision = await room.decided(parts, waits)
        record.add(decision)
        if decision.shadowed:
            await _called(decision.tell_shadowed, runs, request)
        # That of REST framework looks here too.
        getattr(request, "_request", request).rate_limit = decision.info
        if decision.blocked:
            send = rate_limited.asend if waits else rate_limited.send
            await value_of(send(getattr(view, "view_class", view), request=request, info=decision.info))
            return decision
    return None


async def limit(request: Any, record: DjangoRecord, by_store: ByStore, view: Any, waits: bool) -> Any:
    """The response to a denied request, else ``None``."""
    try:
        decision = await decide(request, record, by_store, view, waits)
    except RequestError as error:
        return _made(record.room.gate.rejection(error.kind, request.META.get("HTTP_ACCEPT")))
    if decision is None:
        return None
    runs = waits or not decision.deciding.guard.is_async
    response = await _called(decision.response, runs, request)
    if response is not None:
        return response
    return _made(record.room.gate.refusal(record.infos, request.META.get("HTTP_ACCEPT")))


def _made(refusal: Any) -> HttpResponse:
    return HttpResponse(refusal.body, status=refusal.status, headers=dict(refusal.headers))


# What Django makes of exceptions of a view. Of any other it makes a response 500.
STATUSES = {Http404: 404, PermissionDenied: 403, BadRequest: 400, SuspiciousOperation: 400, MultiPartParserError: 400}


def fail(record: DjangoRecord, error: Exception) -> None:
    """Notes what is not charged where a view has raised, unless the middleware will see the response."""
    if not record.is_carried:
        status = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500)
        record.judge(status, HttpResponse(status=status))


def finish(record: DjangoRecord, response: Any) -> bool:
    """Puts headers on a response; true if what it is charged for is to be settled now, as a stream is at its end."""
    if not record.decisions:
        return False
    if record.carry(response, response.streaming):
        settled = SettledAsync if response.is_async else Settled
        response.streaming_content = settled(response.streaming_content, record)
        return False
    return record.waits


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
            await asyncio.shield(self._record.end(True))
            raise

    def close(self) -> None:
        """Called by Django in a thread, when the response is closed."""
        self._record.close()
