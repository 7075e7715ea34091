"""The limiters whose metrics are exported, for the modules of each system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ._aio import AsyncLimiter
from ._errors import ClosedError, refused
from ._stats import Histogram, Metric
from ._tidegate import Limiter

__all__ = ["Limiters", "bounded", "checked", "metrics_of"]

Limiters = Limiter | AsyncLimiter | Mapping[str, Limiter | AsyncLimiter]
"""One limiter, or several by name."""


def metrics_of(limiters: Limiters) -> Iterator[Metric]:
    """The metrics of all limiters that are open; several have the label ``limiter`` in front of their own."""
    if isinstance(limiters, Limiter | AsyncLimiter):
        yield from _read(limiters)
        return
    read = {name: found for name, limiter in limiters.items() if (found := _read(limiter))}
    for metrics in zip(*read.values()):
        named = list(zip(read, metrics))
        yield metrics[0]._replace(
            labels=("limiter", *metrics[0].labels),
            samples=tuple(((name, *labels), value) for name, metric in named for labels, value in metric.samples),
            histograms=tuple(
                one._replace(labels=(name, *one.labels)) for name, metric in named for one in metric.histograms
            ),
        )


def _read(limiter: Limiter | AsyncLimiter) -> list[Metric]:
    # An error would take the numbers of all others, and of the whole program, out of the export.
    try:
        return limiter.metrics()
    except ClosedError:
        return []


def bounded(histogram: Histogram) -> list[tuple[str, int]]:
    """Its buckets by their bounds as text, also the one without a bound."""
    return [*((str(bound), count) for bound, count in histogram.buckets), ("+Inf", histogram.count)]


def checked(limiters: Limiters) -> Limiters:
    """A copy of them that nobody else changes, whose calls are counted by limit from now on."""
    named = {"": limiters} if isinstance(limiters, Limiter | AsyncLimiter) else limiters
    # A name that is no text would be an error of the whole export, each time that the numbers are read.
    if not isinstance(named, Mapping) or not all(
        isinstance(name, str) and isinstance(one, Limiter | AsyncLimiter) for name, one in named.items()
    ):
        problem = "must be a limiter, or limiters by name"
        raise refused("limiters", problem, limiters)
    for one in named.values():
        one.metrics()
    return dict(named) if named is limiters else limiters
