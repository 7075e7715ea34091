//! The leaky bucket.

use pyo3::intern;
use pyo3::prelude::*;

use super::{Field, Key, Limit, Span, define};

/// A leaky bucket as a meter: up to ``size`` units at once, and ``drip_size`` more every ``drip_rate``.
///
/// Durations are milliseconds, or a ``timedelta``; counts and durations with a fraction are rounded up.
/// ``factor_scales`` says what an actor's factor scales: the ``"size"`` alone, or ``"size-and-rate"``.
///
/// Raises ``LimitError`` for a value out of its bounds.
///
/// >>> from datetime import timedelta
/// >>> from tidegate import Bucket
/// >>> Bucket("login", size=10, drip_rate=timedelta(seconds=1))
/// Bucket('login', size=10, drip_rate=1000, drip_size=1, factor_scales='size')
#[pyclass(frozen, extends = Limit, module = "tidegate")]
pub(crate) struct Bucket;

#[pymethods]
impl Bucket {
    #[new]
    #[pyo3(
        signature = (key, *, size, drip_rate = Span(None), drip_size = Field(None), factor_scales = Field(None)),
        text_signature = "(key, *, size, drip_rate=1000, drip_size=1, factor_scales='size')"
    )]
    fn new(
        key: Key,
        size: Field,
        drip_rate: Span,
        drip_size: Field,
        factor_scales: Field,
    ) -> PyResult<PyClassInitializer<Self>> {
        let fields =
            [("size", size), ("dripRate", drip_rate.into()), ("dripSize", drip_size), ("factorScales", factor_scales)];
        define(Self, Some("bucket"), key, fields)
    }

    /// How many units fit at once.
    #[getter]
    fn size<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "size"))
    }

    /// How often it drips, in milliseconds.
    #[getter]
    fn drip_rate<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "dripRate"))
    }

    /// How many units leave with each drip.
    #[getter]
    fn drip_size<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "dripSize"))
    }

    /// What an actor's factor scales.
    #[getter]
    fn factor_scales<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "factorScales"))
    }
}
