"""What tests of programs that use ``tidegate`` need."""

from __future__ import annotations

from datetime import datetime, timedelta

__all__ = ["Clock"]

# 2020-01-01 00:00 UTC, at which windows of a day, an hour and a minute begin.
START = 1_577_836_800


class Clock:
    """A clock that stands still until it is told to advance, for ``Limiter(clock=clock)``.

    ``start`` is seconds since the epoch, or a ``datetime``. It is called as ``time.time`` is, and counts in whole
    microseconds, so that a thousand small steps end where a large one does.

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
        self._micros = _micros(start.timestamp() if isinstance(start, datetime) else start)

    def advance(self, seconds: float | timedelta) -> None:
        """Move on by so many seconds, or a ``timedelta``; back, where it is negative.

        >>> from datetime import timedelta
        >>> from tidegate.testing import Clock
        >>> clock = Clock(0)
        >>> clock.advance(1.5)
        >>> clock.advance(timedelta(minutes=1))
        >>> clock()
        61.5
        """
        self._micros += _micros(seconds.total_seconds() if isinstance(seconds, timedelta) else seconds)

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self._micros / 1_000_000

    def __repr__(self) -> str:
        return f"Clock({self()!r})"


def _micros(seconds: float) -> int:
    return round(seconds * 1_000_000)
