//! GCRA.

use pyo3::intern;
use pyo3::prelude::*;

use super::{Field, Key, Limit, Span, define};

/// A token bucket, decided as GCRA does: ``count`` per ``period`` at an even pace, up to ``burst`` saved up.
///
/// The period is milliseconds, or a ``timedelta``; ``burst=None`` is ``count``. No rate is ever rounded.
///
/// Raises ``LimitError`` for a value out of its bounds.
///
/// >>> from tidegate import TokenBucket
/// >>> TokenBucket("api", count=100, period=1000, burst=20)
/// TokenBucket('api', count=100, period=1000, burst=20)
#[pyclass(frozen, extends = Limit, module = "tidegate")]
pub(crate) struct TokenBucket;

#[pymethods]
impl TokenBucket {
    #[new]
    #[pyo3(
        signature = (key, *, count, period, burst = Field(None)),
        text_signature = "(key, *, count, period, burst=None)"
    )]
    fn new(key: Key, count: Field, period: Span, burst: Field) -> PyResult<PyClassInitializer<Self>> {
        let fields = [("count", count), ("period", period.into()), ("burst", burst.or_none())];
        define(Self, Some("token-bucket"), key, fields)
    }

    /// How many tokens come back in a period.
    #[getter]
    fn count<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "count"))
    }

    /// The period, in milliseconds.
    #[getter]
    fn period<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "period"))
    }

    /// How many tokens may be saved up; ``None`` is ``count``.
    #[getter]
    fn burst<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "burst"))
    }
}
