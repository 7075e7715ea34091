"""Job queues: the delay of a job that a limit denied.

>>> from tidegate import Limiter, TokenBucket
>>> from tidegate.queues import defer_by
>>> limiter, sms = Limiter(), TokenBucket("sms", count=1, period=60_000)
>>> _ = limiter.limit(sms, "ada", now=0)
>>> defer_by(limiter.limit(sms, "ada", now=15_000))
datetime.timedelta(seconds=45)
"""

from __future__ import annotations

import random
from datetime import timedelta

from ._errors import refused
from ._tidegate import LimitInfo

__all__ = ["defer_by"]


def defer_by(info: LimitInfo, *, spread: float | timedelta = 0) -> timedelta:
    """The time until a job that was denied is to be tried again, for the delay of its queue; at least 1 ms.

    A denial must not count as a failed attempt: each queue has its own way to put a job back without one. ``spread`` is
    the longest random time that is added, in seconds or as a ``timedelta``. Jobs that were denied together then come
    back one after another.

    >>> from datetime import timedelta
    >>> from tidegate import Limiter, TokenBucket
    >>> from tidegate.queues import defer_by
    >>> limiter, sms = Limiter(), TokenBucket("sms", count=1, period=60_000)
    >>> _ = limiter.limit(sms, "ada", now=0)
    >>> info = limiter.limit(sms, "ada", now=15_000)
    >>> defer_by(info)
    datetime.timedelta(seconds=45)
    >>> defer_by(info, spread=5) <= timedelta(seconds=50)
    True
    """
    if not isinstance(info, LimitInfo):
        raise refused("info", "must be the answer of a limiter", info)
    seconds = spread.total_seconds() if isinstance(spread, timedelta) else spread
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds < 3.2e9:
        problem = "must be at least 0 seconds and at most 100 years"
        raise refused("spread", problem, spread)
    return timedelta(milliseconds=max(1, info.reset_ms)) + timedelta(seconds=seconds * random.random())
