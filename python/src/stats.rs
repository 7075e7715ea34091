//! Statistics and health of a limiter, as the named tuples of Python.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
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
    ];
    for (name, count) in counts {
        named.set_item(name, count)?;
    }
    named.set_item("failures", failures)?;
    named.set_item("breaker", stats.breaker.name())?;
    named.set_item("latency", latency)?;
    classes.getattr("Statistics")?.call((), Some(&named))
}
