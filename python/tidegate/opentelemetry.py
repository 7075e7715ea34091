"""The metrics of limiters for OpenTelemetry, through its API: any SDK exports them.

>>> from opentelemetry.sdk.metrics import MeterProvider
>>> from opentelemetry.sdk.metrics.export import InMemoryMetricReader
>>> from tidegate import Bucket, Limiter
>>> from tidegate.opentelemetry import instrument
>>> limiter, reader = Limiter(), InMemoryMetricReader()
>>> instrument(limiter, meter_provider=MeterProvider(metric_readers=[reader]))
>>> _ = limiter.limit(Bucket("login", size=10), "ada")
>>> metric = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics[0]
>>> metric.name, metric.data.data_points[0].attributes, metric.data.data_points[0].value
('tidegate.decisions', {'limit': 'login', 'outcome': 'allowed'}, 1.0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation, get_meter_provider

from ._exported import Limiters, bounded, checked, metrics_of
from ._stats import Metric

__all__ = ["instrument"]


def instrument(limiters: Limiters, *, meter_provider: MeterProvider | None = None) -> None:
    """Export the metrics of a limiter, or of several by name, as observable instruments of a meter.

    Calls are counted by limit from now on, and the numbers are read when they are collected. With names,
    ``instrument({"api": api, "jobs": jobs})``, each number has the attribute ``limiter``. Without ``meter_provider``
    it is the global one. Call it once for each provider: instruments cannot be removed. A limiter that is
    closed is left out.

    >>> from tidegate import Limiter
    >>> from tidegate.opentelemetry import instrument
    >>> instrument({"api": Limiter(), "jobs": Limiter("memory://", max_entries=1000)})
    """
    limiters = checked(limiters)
    meter = (meter_provider or get_meter_provider()).get_meter("tidegate")
    for place, metric in enumerate(metrics_of(limiters)):
        create = meter.create_observable_gauge if metric.kind == "gauge" else meter.create_observable_counter
        for part, (name, unit, _) in enumerate(_instruments(metric)):
            create(name, [_reader(limiters, place, part)], unit, metric.help)


def _reader(limiters: Limiters, place: int, part: int) -> Callable[[CallbackOptions], list[Observation]]:
    def read(_: CallbackOptions) -> list[Observation]:
        metrics = list(metrics_of(limiters))
        return list(_instruments(metrics[place]))[part][2] if metrics else []

    return read


def _instruments(metric: Metric) -> Iterator[tuple[str, str, list[Observation]]]:
    """The name, the unit and the numbers of each instrument of a metric; see docs/observability.md for histograms."""

    def named(labels: tuple[str, ...], **more: str) -> dict[str, str]:
        return {**dict(zip(metric.labels, labels)), **more}

    name = metric.instrument
    if metric.kind != "histogram":
        yield name, metric.unit, [Observation(value, named(labels)) for labels, value in metric.samples]
        return
    each = metric.histograms
    yield f"{name}.count", "1", [Observation(one.count, named(one.labels)) for one in each]
    yield f"{name}.sum", metric.unit, [Observation(one.sum, named(one.labels)) for one in each]
    buckets = [(one.labels, bound, count) for one in each for bound, count in bounded(one)]
    yield f"{name}.bucket", "1", [Observation(count, named(labels, le=bound)) for labels, bound, count in buckets]
