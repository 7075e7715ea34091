"""Helpers for tests of programs that use ``tidegate``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from ._aio import AsyncLimiter
from ._errors import refused
from ._tidegate import Limiter

__all__ = ["Clock", "limits_off", "use_limiter"]

# 1 January 2024, so that an instant in a failed test can be read; windows of a day and less begin then.
START = 1_704_067_200


class Clock:
    """A clock that moves only with ``advance`` and ``set``, for ``Limiter(clock=clock)``.

    ``start`` is seconds since the epoch, or a ``datetime``. It is called as ``time.time`` is, and counts in whole
    microseconds, so that many small steps add up exactly.

    >>> from tidegate import Bucket, Limiter
    >>> from tidegate.testing import Clock
    >>> clock = Clock()
    >>> limiter, door = Limiter(clock=clock), Bucket("door", size=1, drip_rate=60_000)
    >>> limiter.limit(door, "ada").blocked, limiter.limit(door, "ada").blocked
    (False, True)
    >>> clock.advance(60)
    >>> limiter.limit(door, "ada").blocked
    False
    """

    __slots__ = ("__weakref__", "_micros")

    def __init__(self, start: float | datetime = START) -> None:
        self._micros = _micros("start", start)

    def advance(self, seconds: float | timedelta) -> None:
        """Advance by so many seconds, or a ``timedelta``, never back.

        >>> from datetime import timedelta
        >>> from tidegate.testing import Clock
        >>> clock = Clock(0)
        >>> clock.advance(1.5)
        >>> clock.advance(timedelta(minutes=1))
        >>> clock()
        61.5
        """
        self._micros += _micros("seconds", seconds)

    def set(self, to: float | datetime) -> None:
        """Set it to an instant, in seconds since the epoch or a ``datetime``, which may be an earlier one."""
        self._micros = _micros("to", to)

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self._micros / 1_000_000

    def __repr__(self) -> str:
        return f"Clock({self()!r})"


def _micros(field: str, given: float | datetime | timedelta) -> int:
    if isinstance(given, datetime):
        given = given.timestamp()
    elif isinstance(given, timedelta):
        given = given.total_seconds()
    try:
        is_instant = 0 <= given < float("inf")
    except TypeError:
        wanted = "timedelta" if field == "seconds" else "datetime"
        raise refused(field, f"must be a number of seconds or a {wanted}", given) from None
    if not is_instant:
        raise refused(field, "must be at least 0 and finite", given)
    return round(given * 1_000_000)


@contextmanager
def use_limiter(limiter: Limiter | AsyncLimiter) -> Iterator[None]:
    """Replace the limiter of every application in this process by this one, until the block ends.

    It is for tests of applications that limit requests with a module for their framework or their HTTP client, such as
    ``tidegate.fastapi`` and ``tidegate.httpx``, or tools with ``limit_tool``. Usually the limiter is one in memory with
    a ``Clock``; its ``clear`` removes all entries.

    >>> from tidegate import Limiter
    >>> from tidegate.testing import Clock, use_limiter
    >>> clock = Clock()
    >>> with use_limiter(Limiter(clock=clock)):
    ...     clock.advance(60)
    """
    from ._web.store import stand_in

    # Without one there would be no limits, and a test of them would find none.
    if not isinstance(limiter, Limiter | AsyncLimiter):
        raise refused("limiter", "must be a Limiter or an AsyncLimiter", limiter)
    with stand_in(limiter):
        yield


@contextmanager
def limits_off() -> Iterator[None]:
    """Switch off the limits of every application in this process, until the block ends.

    Responses then have no rate-limit headers, HTTP clients send at once, and functions with ``limit_tool`` run. Calls
    of a limiter of your own, and tasks of Celery, are limited all the same.

    >>> from tidegate.testing import limits_off
    >>> with limits_off():
    ...     pass
    """
    from ._web.store import stand_in

    with stand_in(None):
        yield
