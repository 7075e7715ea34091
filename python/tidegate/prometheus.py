"""The metrics of limiters for Prometheus, through ``prometheus_client``.

>>> from prometheus_client import CollectorRegistry
>>> from tidegate import Bucket, Limiter
>>> from tidegate.prometheus import Collector
>>> limiter, registry = Limiter(), CollectorRegistry()
>>> registry.register(Collector(limiter))
>>> _ = limiter.limit(Bucket("login", size=10), "ada")
>>> registry.get_sample_value("tidegate_decisions_total", {"limit": "login", "outcome": "allowed"})
1.0
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector as Base

from ._exported import Limiters, bounded, checked, metrics_of

__all__ = ["Collector"]


class Collector(Base):
    """Exports the metrics of a limiter, or of several by name, to the registries in which it is registered.

    Calls are counted by limit from the time that it is made, and the numbers are read when they are collected. With
    names, ``Collector({"api": api, "jobs": jobs})``, each number has the label ``limiter``. One collector for each
    registry: a second one would have the same metrics. A limiter that is closed is left out.

    >>> from prometheus_client import CollectorRegistry
    >>> from tidegate import Limiter
    >>> from tidegate.prometheus import Collector
    >>> registry = CollectorRegistry()
    >>> registry.register(Collector({"jobs": Limiter()}))
    >>> registry.get_sample_value("tidegate_entries", {"limiter": "jobs"})
    0.0
    """

    def __init__(self, limiters: Limiters) -> None:
        self._limiters = checked(limiters)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily]:
        """Read the numbers of all metrics."""
        for metric in metrics_of(self._limiters):
            if metric.kind == "histogram":
                distribution = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
                for one in metric.histograms:
                    distribution.add_metric(one.labels, bounded(one), one.sum)
                yield distribution
                continue
            family = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            collected = family(metric.name, metric.help, labels=metric.labels)
            for labels, value in metric.samples:
                collected.add_metric(labels, value)
            yield collected
