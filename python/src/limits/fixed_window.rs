//! Fixed windows.

use pyo3::intern;
use pyo3::prelude::*;

use super::{Field, Key, Limit, Span, define};

/// At most ``max`` units in each window of a ``period``.
///
/// The period is milliseconds, or a ``timedelta``. Windows begin at multiples of the period since the Unix epoch
/// (``anchor="epoch"``), or each at an actor's first request (``"first-request"``).
///
/// Raises ``LimitError`` for a value out of its bounds.
///
/// >>> from datetime import timedelta
/// >>> from tidegate import FixedWindow
/// >>> FixedWindow("daily", max=1000, period=timedelta(days=1))
/// FixedWindow('daily', max=1000, period=86400000, anchor='epoch')
#[pyclass(frozen, extends = Limit, module = "tidegate")]
pub(crate) struct FixedWindow;

#[pymethods]
impl FixedWindow {
    #[new]
    #[pyo3(
        signature = (key, *, max, period, anchor = Field(None)),
        text_signature = "(key, *, max, period, anchor='epoch')"
    )]
    fn new(key: Key, max: Field, period: Span, anchor: Field) -> PyResult<PyClassInitializer<Self>> {
        let fields = [("max", max), ("period", period.into()), ("anchor", anchor)];
        define(Self, Some("fixed-window"), key, fields)
    }

    /// How many units each window admits.
    #[getter]
    fn max<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "max"))
    }

    /// How long a window is, in milliseconds.
    #[getter]
    fn period<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "period"))
    }

    /// Where the windows begin.
    #[getter]
    fn anchor<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "anchor"))
    }
}
