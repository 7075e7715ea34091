"""Statistics and health of a limiter."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Health", "Latency", "Statistics"]


class Health(NamedTuple):
    """The health of a store; see ``Limiter.ping``.

    >>> from tidegate import Limiter
    >>> health = Limiter().ping()
    >>> health.servers, health.round_trip, health.memory_policy
    ((), 0.0, None)
    """

    servers: tuple[str, ...]
    """The servers that were tested; none in memory."""
    round_trip: float
    """Seconds that the slowest of them took to decide."""
    clock_ahead: float
    """Seconds by which the clock of a server is ahead of this host's; the server's clock decides."""
    memory_policy: str | None
    """The ``maxmemory-policy`` of the first, if the user may read it."""
    warnings: tuple[str, ...]
    """Problems, in words, that do not keep calls from being decided."""


class Latency(NamedTuple):
    """A histogram of times, in seconds.

    >>> from tidegate import Latency
    >>> times = Latency(buckets=((0.001, 7), (0.002, 1), (None, 0)), sum=0.0045)
    >>> sum(count for bound, count in times.buckets)
    8
    """

    buckets: tuple[tuple[float | None, int], ...]
    """Each bound, and the number of times below it but not below the bound before; the last one has no bound.

    Empty in memory.
    """
    sum: float
    """Sum of all times."""


class Statistics(NamedTuple):
    """Counts of a limiter in this process, since it was made; see ``Limiter.stats``.

    In memory only calls are counted: no server is asked, and no time is measured.

    >>> from tidegate import Bucket, Limiter
    >>> limiter = Limiter()
    >>> _ = limiter.limit(Bucket("login", size=10), "ada")
    >>> stats = limiter.stats()
    >>> stats.admitted, stats.store_calls, stats.latency.buckets
    (1, 0, ())
    """

    decisions: int
    """Calls that were answered or failed."""
    admitted: int
    """Calls that were admitted."""
    blocked: int
    """Calls that were denied, by the deny cache too."""
    failed: int
    """Calls that ended in an error."""
    degraded: int
    """Calls that were answered by the fallback, or failed, because the store did not decide."""
    deny_cache_hits: int
    """Calls that were denied without a call to the store."""
    store_calls: int
    """Decisions that were sent to the store."""
    batches: int
    """Round trips in which they were sent."""
    corrupt_entries: int
    """Entries of the store that could not be read, and were replaced."""
    failures: dict[str, int]
    """Calls that the store did not decide, by the failure: ``timeout``, ``unavailable``, ``unreachable``, …"""
    breaker: Literal["closed", "open"]
    """``open`` while a server that failed gets no calls, only probes."""
    latency: Latency
    """Times that the store took to decide."""
