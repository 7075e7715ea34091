"""Statistics and health of a limiter."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Health", "Histogram", "Latency", "Metric", "Statistics", "Top", "TopActor"]


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


class Histogram(NamedTuple):
    """A distribution of a metric, since the limiter was made.

    >>> from tidegate import Histogram
    >>> waits = Histogram(labels=("login",), buckets=((0.01, 7), (0.03, 9)), count=10, sum=0.16)
    >>> waits.count - waits.buckets[-1][1]
    1
    """

    labels: tuple[str, ...]
    """The values of its labels."""
    buckets: tuple[tuple[float, int], ...]
    """Each bound, and the number of values up to it: also of those of the bounds before."""
    count: int  # type: ignore[assignment]
    """The number of all values, also of those above the last bound. It hides the method of tuples."""
    sum: float
    """Sum of all values."""


class Metric(NamedTuple):
    """A metric of a limiter, with the numbers that it has now; see ``Limiter.metrics``.

    >>> from tidegate import Limiter
    >>> metrics = {metric.name: metric for metric in Limiter().metrics()}
    >>> entries = metrics["tidegate_entries"]
    >>> entries.instrument, entries.kind, entries.help, entries.samples
    ('tidegate.entries', 'gauge', 'Entries in memory.', (((), 0.0),))
    """

    name: str
    """Its name in Prometheus."""
    instrument: str
    """Its name in OpenTelemetry."""
    help: str
    """Its meaning, in a sentence."""
    unit: Literal["1", "s"]
    """Its unit in OpenTelemetry."""
    kind: Literal["counter", "gauge", "histogram"]
    """A counter only grows, and so do the counts of a histogram."""
    labels: tuple[str, ...]
    """The names of its labels."""
    samples: tuple[tuple[tuple[str, ...], float], ...]
    """The values of its labels, and the number, of each; none of a histogram."""
    histograms: tuple[Histogram, ...]
    """Its distributions, where it is a histogram."""


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
    entries: int
    """Entries that are kept now, in this process's memory or in memory that processes share."""
    evictions: int
    """Drained entries that were removed there early, because it was full."""
    overflowed: int
    """Calls that were decided there by an entry shared between actors, because it was full."""
    processes: int
    """Processes that share the memory now; 0 for any other store."""
    failures: dict[str, int]
    """Calls that the store did not decide, by the failure: ``timeout``, ``unavailable``, ``unreachable``, …"""
    breaker: Literal["closed", "open"]
    """``open`` while a server that failed gets no calls, only probes."""
    latency: Latency
    """Times that the store took to decide."""


class TopActor(NamedTuple):
    """An actor among those that a limiter denied or charged most; see ``Limiter.top``.

    >>> from tidegate import TopActor
    >>> actor = TopActor(actor="ip:203.0.113.9", count=120, error=20)
    >>> actor.count - actor.error
    100
    """

    actor: str
    """The actor. Of one longer than 200 bytes the beginning and a hash."""
    count: int  # type: ignore[assignment]
    """Its calls or units, or more. It hides the method of tuples."""
    error: int
    """The most by which ``count`` is too high; 0 where it is exact."""


class Top(NamedTuple):
    """The actors that a limiter denied and charged most; see ``Limiter.top``.

    >>> from tidegate import Limiter
    >>> Limiter().top()
    Top(denied=(), charged=())
    """

    denied: tuple[TopActor, ...]
    """By calls that were denied. A call that several limits of an actor denied counts once."""
    charged: tuple[TopActor, ...]
    """By the units of admitted calls, in all limits together. What was given back later is not subtracted."""
