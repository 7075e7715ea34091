//! Statistics and health of a limiter, as the named tuples of Python.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use tidegate::metrics::{Metric, Top, TopActor};
use tidegate::remote::{Health, Statistics};

/// A ``Health`` of Python.
pub(crate) fn health<'py>(py: Python<'py>, health: &Health) -> PyResult<Bound<'py, PyAny>> {
    let Health { servers, round_trip, clock_ahead, memory_policy, warnings, .. } = health;
    let (servers, warnings) = (PyTuple::new(py, servers)?, PyTuple::new(py, warnings)?);
    let fields = (servers, round_trip.as_secs_f64(), *clock_ahead, memory_policy, warnings);
    py.import("tidegate._stats")?.call_method1("Health", fields)
}

/// A ``Statistics`` of Python.
pub(crate) fn statistics<'py>(py: Python<'py>, stats: &Statistics) -> PyResult<Bound<'py, PyAny>> {
    let classes = py.import("tidegate._stats")?;
    let buckets: Vec<_> =
        stats.latency.buckets.iter().map(|(bound, count)| (bound.map(|bound| bound.as_secs_f64()), *count)).collect();
    let buckets = PyTuple::new(py, buckets)?;
    let latency = classes.call_method1("Latency", (buckets, stats.latency.sum.as_secs_f64()))?;
    let failures = PyDict::new(py);
    for (failure, count) in &stats.failures {
        failures.set_item(failure.name(), count)?;
    }
    let named = PyDict::new(py);
    let counts = [
        ("decisions", stats.decisions),
        ("admitted", stats.admitted),
        ("blocked", stats.blocked),
        ("failed", stats.failed),
        ("degraded", stats.degraded),
        ("deny_cache_hits", stats.deny_cache_hits),
        ("store_calls", stats.store_calls),
        ("batches", stats.batches),
        ("corrupt_entries", stats.corrupt_entries),
        ("entries", stats.entries),
        ("evictions", stats.evictions),
        ("overflowed", stats.overflowed),
        ("processes", stats.processes),
    ];
    for (name, count) in counts {
        named.set_item(name, count)?;
    }
    named.set_item("failures", failures)?;
    named.set_item("breaker", stats.breaker.name())?;
    named.set_item("latency", latency)?;
    classes.getattr("Statistics")?.call((), Some(&named))
}

/// A list of ``Metric`` of Python.
pub(crate) fn metrics(py: Python<'_>, metrics: Vec<Metric>) -> PyResult<Bound<'_, PyAny>> {
    let classes = py.import("tidegate._stats")?;
    let (class, histogram) = (classes.getattr("Metric")?, classes.getattr("Histogram")?);
    let all = PyList::empty(py);
    for metric in metrics {
        let Metric { name, instrument, help, unit, kind, labels, samples, histograms, .. } = metric;
        let numbers: PyResult<Vec<_>> =
            samples.iter().map(|sample| Ok((PyTuple::new(py, &sample.labels)?, sample.value))).collect();
        let histograms: PyResult<Vec<_>> = histograms
            .into_iter()
            .map(|one| {
                let (labels, buckets) = (PyTuple::new(py, one.labels)?, PyTuple::new(py, one.buckets)?);
                histogram.call1((labels, buckets, one.count, one.sum))
            })
            .collect();
        let (numbers, histograms) = (PyTuple::new(py, numbers?)?, PyTuple::new(py, histograms?)?);
        let fields = (name, instrument, help, unit, kind.name(), PyTuple::new(py, labels)?, numbers, histograms);
        all.append(class.call1(fields)?)?;
    }
    Ok(all.into_any())
}

/// A ``Top`` of Python.
pub(crate) fn top(py: Python<'_>, top: Top) -> PyResult<Bound<'_, PyAny>> {
    let classes = py.import("tidegate._stats")?;
    let class = classes.getattr("TopActor")?;
    let rows = |actors: Vec<TopActor>| {
        let rows: PyResult<Vec<_>> =
            actors.into_iter().map(|row| class.call1((row.actor, row.count, row.error))).collect();
        PyTuple::new(py, rows?)
    };
    classes.call_method1("Top", (rows(top.denied)?, rows(top.charged)?))
}
