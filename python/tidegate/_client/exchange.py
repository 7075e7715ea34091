"""A request's way through the limits, written once for sync and async callers."""

from __future__ import annotations

import contextlib
import logging
import random
import time
from collections.abc import Callable, Generator, Iterable
from functools import partial
from operator import methodcaller
from typing import Any, Protocol, TypeAlias

from .._aio import AsyncLimiter
from .._errors import TidegateError
from .._hold import AsyncHeld, BlockedError
from .._tidegate import Held, LimitInfo
from .._web.store import NO_LIMIT
from .settings import STOP, Settings

Step: TypeAlias = float | Callable[[Any], Any]
"""Seconds to sleep; or a function of the limiter, whose result an async caller awaits where it has to."""

Clock: TypeAlias = Callable[[], float] | None

Steps: TypeAlias = Generator[Step, Any, Any]

_log = logging.getLogger("tidegate")


class Call(Protocol):
    """One request of an HTTP client, as the module for that client describes it."""

    request: Any
    method: str
    host: str

    def replayable(self) -> bool:
        """The body can be sent again."""

    def send(self) -> Any:
        """Sends the request; returns the response, or an awaitable of it."""

    def status(self, response: Any) -> int:
        """The status of a response."""

    def headers(self, response: Any) -> Iterable[tuple[str, str]]:
        """The headers of a response, each line by itself."""

    def discard(self, response: Any) -> Any:
        """Closes a response that nobody sees; returns an awaitable where it takes time."""

    def on_end(self, response: Any, held: Any) -> Any:
        """Releases the units when the body has been read, or the response is closed; an awaitable where it is now."""

    def never_sent(self, error: BaseException) -> bool:
        """The error comes from before anything was sent."""


def exchange(settings: Settings, call: Call, clock: Clock) -> Steps:
    """Waits for a turn, sends, observes, and repeats where that is asked for; returns the response."""
    actor = call.host if settings.key is None else settings.key(call.request)
    cost = settings.cost(call.request) if callable(settings.cost) else settings.cost
    attempt = 0
    while True:
        info = yield from _turn(settings, actor, cost, clock)
        held: Held | AsyncHeld | None = None
        if settings.engine.holds:
            held = yield partial(_held, info)
        try:
            response = yield lambda _: call.send()
        except BaseException as error:
            yield from _quietly(partial(_end, call, info, held, error))
            raise
        try:
            retry_in = yield from _observe(settings, call, response, actor, info, attempt, clock)
            if retry_in is None:
                if held is not None:
                    yield partial(_on_end, call, response, held)
                return response
            yield from _discard(call, response)
        except BaseException:
            try:
                # Else its connection is never used again.
                yield from _discard(call, response)
            finally:
                yield from _quietly(partial(_release, held))
            raise
        yield from _quietly(partial(_release, held))
        yield retry_in
        attempt += 1


def _turn(settings: Settings, actor: str, cost: int, clock: Clock) -> Generator[Step, Any, LimitInfo]:
    """Waits until a request may be sent.

    A turn that comes while the server has stopped all callers is given back, and asked for anew.
    """
    left = settings.max_wait
    while True:
        info: LimitInfo = yield methodcaller("acquire", settings.limits, actor, cost, max_wait=left)
        if info.blocked:
            raise BlockedError(info)
        try:
            if clock is not None:
                # With a clock of its own, a limiter does not wait.
                yield info.wait_ms / 1000
            stop: LimitInfo = yield methodcaller("peek", STOP, actor)
        except BaseException:
            yield from _quietly(methodcaller("refund", info))
            raise
        if not stop.blocked:
            return info
        yield from _quietly(methodcaller("refund", info))
        pause = stop.reset_ms / 1000
        if left is not None:
            left -= info.wait_ms / 1000 + pause
            if left < 0:
                raise BlockedError(stop)
        yield pause


def _observe(
    settings: Settings, call: Call, response: Any, actor: str, info: LimitInfo, attempt: int, clock: Clock
) -> Generator[Step, Any, float | None]:
    """Takes over what a response says; returns the seconds after which to repeat the request."""
    remaining, stop_ms, retry_in_ms = settings.engine.judge(
        call.status(response),
        list(call.headers(response)),
        call.method,
        attempt,
        call.replayable(),
        [check.remaining for check in info.checks],
        random.random(),
        (time.time if clock is None else clock)() * 1000,
    )
    for index, units in remaining:
        yield from _quietly(methodcaller("observe", settings.limits[index], actor, remaining=units))
    if stop_ms is not None:
        yield from _quietly(methodcaller("observe", settings.stopping, actor, retry_after=stop_ms / 1000))
    return None if retry_in_ms is None else retry_in_ms / 1000


def _held(info: LimitInfo, limiter: Any) -> Held | AsyncHeld | None:
    """Holds the units of a turn, of limits of type concurrency, until the response has been read."""
    if info is NO_LIMIT:
        return None
    return AsyncHeld._of(limiter, info) if isinstance(limiter, AsyncLimiter) else Held._of(limiter, info)


def _end(call: Call, info: LimitInfo, held: Held | AsyncHeld | None, error: BaseException, limiter: Any) -> Any:
    """Ends a turn without a response: what was never sent is not charged."""
    if held is None:
        return limiter.refund(info) if call.never_sent(error) else None
    if call.never_sent(error):
        held.settle([0] * len(info.checks))
    return held.release()


def _on_end(call: Call, response: Any, held: Held | AsyncHeld, _limiter: Any) -> Any:
    return call.on_end(response, held)


def _release(held: Held | AsyncHeld | None, _limiter: Any) -> Any:
    return None if held is None else held.release()


def _discard(call: Call, response: Any) -> Steps:
    """Closes a response that nobody sees, whose body may have failed."""
    with contextlib.suppress(Exception):
        yield lambda _: call.discard(response)


def _quietly(step: Callable[[Any], Any]) -> Steps:
    """A call whose failure must not take the place of a response, or of another error."""
    try:
        yield step
    except TidegateError as error:
        _log.warning("an outgoing call was not accounted for: %s", error)
