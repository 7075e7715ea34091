//! Two windows, the older one weighted.

use pyo3::intern;
use pyo3::prelude::*;

use super::{Field, Key, Limit, Span, define};

/// About ``max`` units in a ``period``, from the counts of two windows of which the older one fades out.
///
/// The period is milliseconds, or a ``timedelta``. Two numbers are all that is kept. It is an approximation, not a
/// bound: it takes the older window's calls to have been spread evenly.
///
/// Raises ``LimitError`` for a value out of its bounds.
///
/// >>> from tidegate import SlidingCounter
/// >>> SlidingCounter("web", max=100, period=60_000)
/// SlidingCounter('web', max=100, period=60000)
#[pyclass(frozen, extends = Limit, module = "tidegate")]
pub(crate) struct SlidingCounter;

#[pymethods]
impl SlidingCounter {
    #[new]
    #[pyo3(
        signature = (key, *, max, period),
        text_signature = "(key, *, max, period)"
    )]
    fn new(key: Key, max: Field, period: Span) -> PyResult<PyClassInitializer<Self>> {
        let fields = [("max", max), ("period", period.into())];
        define(Self, Some("sliding-counter"), key, fields)
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
}
