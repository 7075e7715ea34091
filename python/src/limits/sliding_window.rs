//! Sliding windows, counted in slots.

use pyo3::intern;
use pyo3::prelude::*;

use super::{Field, Key, Limit, Span, define};

/// At most ``max`` units in any span of about a ``period``, counted in slots of a ``resolution``.
///
/// The period and the resolution are milliseconds, or a ``timedelta``. No span of ``period - resolution`` admits more
/// than ``max``. With ``count_blocked``, denied attempts are charged as well, so that only a pause helps.
///
/// Raises ``LimitError`` for a value out of its bounds.
///
/// >>> from tidegate import SlidingWindow
/// >>> SlidingWindow("sms", max=5, period=3_600_000, resolution=600_000)
/// SlidingWindow('sms', max=5, period=3600000, resolution=600000, count_blocked=False)
#[pyclass(frozen, extends = Limit, module = "tidegate")]
pub(crate) struct SlidingWindow;

#[pymethods]
impl SlidingWindow {
    #[new]
    #[pyo3(
        signature = (key, *, max, period, resolution, count_blocked = Field(None)),
        text_signature = "(key, *, max, period, resolution, count_blocked=False)"
    )]
    fn new(
        key: Key,
        max: Field,
        period: Span,
        resolution: Span,
        count_blocked: Field,
    ) -> PyResult<PyClassInitializer<Self>> {
        let fields = [
            ("max", max),
            ("period", period.into()),
            ("resolution", resolution.into()),
            ("countBlocked", count_blocked),
        ];
        define(Self, Some("sliding-window"), key, fields)
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

    /// How long a slot is, in milliseconds.
    #[getter]
    fn resolution<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "resolution"))
    }

    /// Whether denied attempts are charged too.
    #[getter]
    fn count_blocked<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "countBlocked"))
    }
}
