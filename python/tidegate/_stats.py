"""What a limiter has counted."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Health", "Latency", "Statistics"]


class Health(NamedTuple):
    """How fit a store is to decide; see ``Limiter.ping``.

    >>> from tidegate import Limiter
    >>> health = Limiter().ping()
    >>> health.servers, health.round_trip, health.memory_policy
    ((), 0.0, None)
    """

    servers: tuple[str, ...]
    """The servers that were asked; none of a store in memory."""
    round_trip: float
    """How many seconds the slowest of them took to decide."""
    clock_ahead: float
    """How many seconds the clock of one is ahead of this host's; decisions go by the server's."""
    memory_policy: str | None
    """The ``maxmemory-policy`` of the first, where the user may ask for it."""
    warnings: tuple[str, ...]
    """What is not as it should be, in words, though calls are decided."""


class Latency(NamedTuple):
    """A histogram of times, in seconds.

    >>> from tidegate import Latency
    >>> times = Latency(buckets=((0.001, 7), (0.002, 1), (None, 0)), sum=0.0045)
    >>> sum(count for bound, count in times.buckets)
    8
    """

    buckets: tuple[tuple[float | None, int], ...]
    """How many took less than each bound, and no less than the bound before; the last one has no bound."""
    sum: float
    """All of them together."""


class Statistics(NamedTuple):
    """What a limiter has done with a shared store in this process since it was made; see ``Limiter.stats``.

    >>> from tidegate import Limiter
    >>> stats = Limiter().stats()
    >>> stats.admitted, stats.blocked, stats.degraded
    (0, 0, 0)
    """

    decisions: int
    """Calls that were answered or failed."""
    admitted: int
    """Calls that were admitted."""
    blocked: int
    """Calls that were denied, without asking the store too."""
    failed: int
    """Calls that ended in an error."""
    degraded: int
    """Calls that were answered without the store, or failed, because it could not decide."""
    deny_cache_hits: int
    """Calls that were denied without asking the store."""
    store_calls: int
    """Decisions that were sent to the store."""
    batches: int
    """Round trips in which they were sent."""
    corrupt_entries: int
    """Entries of the store that could not be read, and were written anew."""
    failures: dict[str, int]
    """How many calls met each failure, by its name: ``timeout``, ``unavailable``, ``unreachable``, …"""
    breaker: Literal["closed", "open"]
    """``open`` while a server that failed is not asked, but looked at now and then."""
    latency: Latency
    """How long the store took to decide."""
