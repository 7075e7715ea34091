"""The numbers of a limiter, and their export to Prometheus and OpenTelemetry, after calls that are known."""

from __future__ import annotations

import asyncio
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from server import RedisServer
from tidegate import AsyncLimiter, Bucket, ClosedError, Concurrency, Limiter, LimitError, TokenBucket
from tidegate.opentelemetry import instrument
from tidegate.prometheus import Collector

LOGIN = Bucket("login", size=10, drip_rate=3_600_000)
SMALL = Bucket("small", size=1, drip_rate=3_600_000)
JOBS = Concurrency("jobs", max=3, lease=60_000)
# Long enough that the second call comes before its turn, on a busy machine too.
SOON = TokenBucket("soon", count=1, period=500)

Numbers = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def numbers(limiter: Limiter | AsyncLimiter) -> Numbers:
    """Those that are not zero; those of histograms as Prometheus names them."""
    read: Numbers = {}
    for metric in limiter.metrics():
        read |= {(metric.name, tuple(zip(metric.labels, labels))): value for labels, value in metric.samples}
        for one in metric.histograms:
            labels = tuple(zip(metric.labels, one.labels))
            read |= {(f"{metric.name}_count", labels): one.count, (f"{metric.name}_sum", labels): one.sum}
            for bound, count in [*one.buckets, ("+Inf", one.count)]:
                read[f"{metric.name}_bucket", (("le", str(bound)), *labels)] = count
    return {name: value for name, value in read.items() if value}


def scraped(registry: CollectorRegistry) -> Numbers:
    """The same, as Prometheus reads it."""
    families = text_string_to_metric_families(generate_latest(registry).decode())
    samples = [sample for family in families for sample in family.samples]
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for one in samples if one.value}


def key(name: str, **labels: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    return f"tidegate_{name}", tuple(sorted(labels.items()))


def call(limiter: Limiter) -> Numbers:
    """Calls of every kind that is counted, and what they come to."""
    for _ in range(12):
        limiter.limit(LOGIN, "ada", now=0)
    limiter.peek(LOGIN, "ada", now=0)
    limiter.charge(LOGIN, "ada", now=0)
    limiter.refund(LOGIN, "ada", now=0)
    for _ in range(2):
        limiter.limit_all([(LOGIN, "bob"), (SMALL, "bob")], now=0)
    with pytest.raises(LimitError):
        limiter.limit(SMALL, "eve", cost=2)
    with limiter.hold(JOBS, "ada"):
        held = limiter.limit(JOBS, "ada")
    limiter.release(held)
    limiter.limit(JOBS, "ada")
    limiter.limit(SOON, "ada")
    waited = limiter.acquire(SOON, "ada", max_wait=10)
    assert not waited.blocked
    return {
        key("decisions_total", limit="login", outcome="allowed"): 12,
        key("decisions_total", limit="login", outcome="denied"): 2,
        key("near_limit_total", limit="login"): 2,
        key("decisions_total", limit="small", outcome="allowed"): 1,
        key("decisions_total", limit="small", outcome="denied"): 1,
        key("decisions_total", limit="small", outcome="failed"): 1,
        key("near_limit_total", limit="small"): 1,
        key("decisions_total", limit="jobs", outcome="allowed"): 3,
        key("near_limit_total", limit="jobs"): 0,
        key("held_units_total", limit="jobs"): 3,
        key("released_units_total", limit="jobs"): 2,
        key("decisions_total", limit="soon", outcome="allowed"): 2,
        key("near_limit_total", limit="soon"): 2,
        key("wait_duration_seconds_count", limit="soon"): 1,
        key("wait_duration_seconds_sum", limit="soon"): waited.wait_ms / 1000,
        **{
            key("wait_duration_seconds_bucket", limit="soon", le=bound): waited.wait_ms / 1000 <= float(bound)
            for bound in ("0.01", "0.03", "0.1", "0.3", "1.0", "3.0", "10.0", "30.0", "100.0", "300.0", "+Inf")
        },
    }


def by_limit(read: Numbers) -> Numbers:
    return {name: value for name, value in read.items() if "limit" in dict(name[1])}


def test_numbers_are_exact_in_memory() -> None:
    limiter = Limiter()
    limiter.limit(LOGIN, "before", now=0)
    registry = CollectorRegistry()
    registry.register(Collector(limiter))
    expected = {name: value for name, value in call(limiter).items() if value}
    assert by_limit(numbers(limiter)) == by_limit(scraped(registry)) == expected
    assert scraped(registry)[key("entries")] == limiter.entries


def test_numbers_are_exact_over_a_store(fleet: RedisServer) -> None:
    limiter = Limiter(fleet.url, timeout=5, namespace="metrics", on_error="raise")
    registry = CollectorRegistry()
    registry.register(Collector(limiter))
    expected = {name: value for name, value in call(limiter).items() if value}
    read, stats = scraped(registry), limiter.stats()
    assert by_limit(read) == expected
    assert read[key("store_calls_total")] == read[key("store_duration_seconds_count")] == stats.store_calls
    assert read[key("store_batches_total")] == stats.batches
    assert read[key("store_duration_seconds_sum")] == pytest.approx(stats.latency.sum)
    faster = 0
    for bound, count in stats.latency.buckets:
        faster += count
        if bound is None or bound > 0.0001:
            name = key("store_duration_seconds_bucket", le="+Inf" if bound is None else str(bound))
            assert read.get(name, 0) == faster
    limiter.close()


def test_outages_are_counted_by_their_reason() -> None:
    limiter = Limiter("redis://localhost:1", timeout=0.5, on_error="deny")
    limiter.metrics()
    assert limiter.limit_all([(LOGIN, "ada"), (SMALL, "ada")]).blocked
    read = numbers(limiter)
    assert read[key("decisions_total", limit="login", outcome="denied")] == 1
    assert sum(value for (name, _), value in read.items() if name == "tidegate_degraded_total") == 1
    limiter.close()
    with pytest.raises(ClosedError):
        limiter.metrics()


def test_calls_of_an_event_loop_are_counted_alike(fleet: RedisServer) -> None:
    async def calls(limiter: AsyncLimiter) -> Numbers:
        limiter.metrics()
        for _ in range(3):
            await limiter.limit_all([(LOGIN, "ada"), (SMALL, "ada")])
        async with limiter.hold(JOBS, "ada"):
            pass
        await limiter.acquire(JOBS, "ada", max_wait=1)
        read = by_limit(numbers(limiter))
        limiter.close()
        return read

    expected = {
        key("decisions_total", limit="login", outcome="allowed"): 3,
        key("decisions_total", limit="small", outcome="allowed"): 1,
        key("decisions_total", limit="small", outcome="denied"): 2,
        key("near_limit_total", limit="small"): 1,
        key("decisions_total", limit="jobs", outcome="allowed"): 2,
        key("held_units_total", limit="jobs"): 2,
        key("released_units_total", limit="jobs"): 1,
    }
    for url in ("memory://", fleet.url):
        limiter = AsyncLimiter(url, timeout=5, namespace="metrics-loop", deny_cache=0)
        assert asyncio.run(calls(limiter)) == expected


def test_limits_beyond_the_bound_count_together() -> None:
    limiter = Limiter()
    limiter.metrics()
    limiter.limit(Bucket("other", size=1000), "ada")
    for number in range(300):
        limiter.limit(Bucket(f"limit {number}", size=10), "ada")
    read = numbers(limiter)
    decided = {
        dict(labels)["limit"]: value for (name, labels), value in read.items() if name.endswith("decisions_total")
    }
    assert len(decided) == 256
    assert decided["other"] == 1 + 300 - 255
    assert sum(decided.values()) == 301


def test_limiters_of_a_limit_count_apart() -> None:
    limiters = {"one": Limiter(), "two": Limiter()}
    registry = CollectorRegistry()
    registry.register(Collector(limiters))
    for _ in range(2):
        limiters["one"].limit(LOGIN, "ada")
    limiters["two"].limit(LOGIN, "ada")
    read = scraped(registry)
    counted = [read[key("decisions_total", limiter=name, limit="login", outcome="allowed")] for name in limiters]
    assert counted == [2, 1]


def test_threads_lose_no_count() -> None:
    limiter, calls = Limiter(), 5000
    limiter.metrics()

    def work(_: int) -> None:
        for _ in range(calls):
            limiter.limit(LOGIN, "ada")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, range(4)))
    finally:
        sys.setswitchinterval(interval)
    decided = [value for (name, _), value in numbers(limiter).items() if name.endswith("decisions_total")]
    assert sum(decided) == 4 * calls


def test_opentelemetry_has_the_same_numbers() -> None:
    limiter, reader = Limiter(), InMemoryMetricReader()
    instrument(limiter, meter_provider=MeterProvider(metric_readers=[reader]))
    expected = {name: value for name, value in call(limiter).items() if value}
    data = reader.get_metrics_data()
    assert data is not None
    metrics: list[Any] = [metric for one in data.resource_metrics[0].scope_metrics for metric in one.metrics]
    names: dict[str, str] = {}
    described: dict[str, tuple[str, str]] = {}
    for metric in limiter.metrics():
        # In memory nothing is measured.
        parts = {"count": "1", "sum": metric.unit, "bucket": "1"} if metric.histograms else {}
        names |= {f"{metric.instrument}.{part}": f"{metric.name}_{part}" for part in parts}
        described |= {f"{metric.instrument}.{part}": (unit, metric.help) for part, unit in parts.items()}
        if metric.samples:
            names[metric.instrument] = metric.name
            described[metric.instrument] = (metric.unit, metric.help)
    assert {metric.name: (metric.unit, metric.description) for metric in metrics} == described
    read = {
        (names[metric.name], tuple(sorted(point.attributes.items()))): point.value
        for metric in metrics
        for point in metric.data.data_points
        if point.value
    }
    assert by_limit(read) == expected


@pytest.mark.parametrize("left", [["two"], []], ids=str)
def test_a_limiter_that_is_closed_is_left_out(left: list[str], caplog: pytest.LogCaptureFixture) -> None:
    limiters = {"one": Limiter(), "two": Limiter()}
    registry, reader = CollectorRegistry(), InMemoryMetricReader()
    registry.register(Collector(limiters))
    instrument(limiters, meter_provider=MeterProvider(metric_readers=[reader]))
    # A second registry, as the metrics have the same names.
    alone = CollectorRegistry()
    alone.register(Collector(limiters["one"]))
    for name, limiter in limiters.items():
        limiter.limit(LOGIN, "ada")
        if name not in left:
            limiter.close()
    assert scraped(alone) == {}
    assert {dict(labels)["limiter"] for _, labels in scraped(registry)} == set(left)
    data: Any = reader.get_metrics_data()
    metrics = [metric for one in data.resource_metrics for metric in one.scope_metrics[0].metrics] if data else []
    assert {point.attributes["limiter"] for metric in metrics for point in metric.data.data_points} == set(left)
    assert not caplog.records
    with pytest.raises(ClosedError):
        Collector(limiters["one"])


@pytest.mark.parametrize("limiters", [None, [], {"api": 3}, {1: Limiter()}, "memory://"])
def test_what_is_no_limiter_is_refused(limiters: Any) -> None:
    for export in (Collector, instrument):
        with pytest.raises(LimitError, match="limiters must be a limiter, or limiters by name") as refused:
            export(limiters)
        assert refused.value.field == "limiters"


@pytest.mark.parametrize("file", ["rules.yml", "dashboard.json"])
def test_rules_and_dashboard_name_metrics_that_there_are(file: str) -> None:
    metrics = {
        metric.name + ("_bucket" if metric.kind == "histogram" else ""): metric for metric in Limiter().metrics()
    }
    text = (Path(__file__).parents[2] / "examples/prometheus" / file).read_text()
    named = set(re.findall(r"\btidegate_\w+", text))
    assert named
    assert named <= set(metrics)
    if file == "dashboard.json":
        assert named == set(metrics)
    labels = {label for metric in metrics.values() for label in metric.labels} | {"job", "instance", "le"}
    grouped = re.findall(r"\bby \(([\w, ]+)\)", text)
    assert {label for group in grouped for label in group.split(", ")} <= labels
