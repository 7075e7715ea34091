//! Permits at an even pace.

use pyo3::intern;
use pyo3::prelude::*;

use super::{Field, Key, Limit, Span, define};

/// ``rate`` permits per second at an even pace, of which ``max_burst`` of idle time may be saved up.
///
/// With a ``warmup``, a limiter that was idle starts ``cold_factor`` times as slowly and takes that long to come up to
/// its rate. Durations are milliseconds, or a ``timedelta``. A call is paid for by the one after it.
///
/// Raises ``LimitError`` for a value out of its bounds.
///
/// >>> from tidegate import Smooth
/// >>> Smooth("mailer", rate=5, warmup=3000)
/// Smooth('mailer', rate=5, max_burst=1000, warmup=3000, cold_factor=3)
#[pyclass(frozen, extends = Limit, module = "tidegate")]
pub(crate) struct Smooth;

#[pymethods]
impl Smooth {
    #[new]
    #[pyo3(
        signature = (key, *, rate, max_burst = Span(None), warmup = Span(None), cold_factor = Field(None)),
        text_signature = "(key, *, rate, max_burst=1000, warmup=0, cold_factor=3)"
    )]
    fn new(
        key: Key,
        rate: Field,
        max_burst: Span,
        warmup: Span,
        cold_factor: Field,
    ) -> PyResult<PyClassInitializer<Self>> {
        let fields =
            [("rate", rate), ("maxBurst", max_burst.into()), ("warmup", warmup.into()), ("coldFactor", cold_factor)];
        define(Self, Some("smooth"), key, fields)
    }

    /// How many permits come in a second.
    #[getter]
    fn rate<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "rate"))
    }

    /// For how much idle time permits are saved up, in milliseconds.
    #[getter]
    fn max_burst<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "maxBurst"))
    }

    /// How long it takes to come up to its rate, in milliseconds.
    #[getter]
    fn warmup<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "warmup"))
    }

    /// How many times dearer a permit is after a long pause.
    #[getter]
    fn cold_factor<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "coldFactor"))
    }
}
