//! Every instant, kept.

use pyo3::intern;
use pyo3::prelude::*;

use super::{Field, Key, Limit, Span, define};

/// At most ``max`` units in any span of a ``period``, exactly, and none sooner than ``min_interval`` after the last.
///
/// Durations are milliseconds, or a ``timedelta``. It keeps an instant for each of ``max`` units. With
/// ``count_blocked``, denied attempts are charged as well, so that only a pause helps.
///
/// Raises ``LimitError`` for a value out of its bounds.
///
/// >>> from tidegate import SlidingLog
/// >>> SlidingLog("otp", max=5, period=60_000, min_interval=1000)
/// SlidingLog('otp', max=5, period=60000, min_interval=1000, count_blocked=False)
#[pyclass(frozen, extends = Limit, module = "tidegate")]
pub(crate) struct SlidingLog;

#[pymethods]
impl SlidingLog {
    #[new]
    #[pyo3(
        signature = (key, *, max, period, min_interval = Span(None), count_blocked = Field(None)),
        text_signature = "(key, *, max, period, min_interval=0, count_blocked=False)"
    )]
    fn new(
        key: Key,
        max: Field,
        period: Span,
        min_interval: Span,
        count_blocked: Field,
    ) -> PyResult<PyClassInitializer<Self>> {
        let fields = [
            ("max", max),
            ("period", period.into()),
            ("minInterval", min_interval.into()),
            ("countBlocked", count_blocked),
        ];
        define(Self, Some("sliding-log"), key, fields)
    }

    /// How many units in a period.
    #[getter]
    fn max<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "max"))
    }

    /// The period, in milliseconds.
    #[getter]
    fn period<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "period"))
    }

    /// The least time between two calls, in milliseconds.
    #[getter]
    fn min_interval<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "minInterval"))
    }

    /// Whether denied attempts are charged too.
    #[getter]
    fn count_blocked<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "countBlocked"))
    }
}
