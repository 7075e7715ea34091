//! `{ max, duration, minInterval }`.

use pyo3::intern;
use pyo3::prelude::*;

use super::{Field, Key, Limit, Span, define};

/// At most ``max`` units in a ``duration``, or one per ``min_interval``, or both; none of them is no limit.
///
/// Durations are milliseconds, or a ``timedelta``. ``translation="bucket"`` makes one bucket of the fields, as
/// ``SkRateLimiterService`` does, which rounds the rate and does not enforce ``min_interval`` beside ``max``;
/// ``"exact"`` does what the fields say. ``factor_scales`` is as for a ``Bucket``.
///
/// Raises ``LimitError`` for a value out of its bounds, and for one of ``max`` and ``duration`` without the other.
///
/// >>> from tidegate import Legacy
/// >>> Legacy("notes/create", max=300, duration=3_600_000)
/// Legacy('notes/create', max=300, duration=3600000, factor_scales='size', translation='bucket')
#[pyclass(frozen, extends = Limit, module = "tidegate")]
pub(crate) struct Legacy;

#[pymethods]
impl Legacy {
    #[new]
    #[pyo3(
        signature = (
            key,
            *,
            max = Field(None),
            duration = Span(None),
            min_interval = Span(None),
            factor_scales = Field(None),
            translation = Field(None)
        ),
        text_signature = "(key, *, max=None, duration=None, min_interval=None, factor_scales='size', translation='bucket')"
    )]
    fn new(
        key: Key,
        max: Field,
        duration: Span,
        min_interval: Span,
        factor_scales: Field,
        translation: Field,
    ) -> PyResult<PyClassInitializer<Self>> {
        let fields = [
            ("max", max.or_none()),
            ("duration", Field::from(duration).or_none()),
            ("minInterval", Field::from(min_interval).or_none()),
            ("factorScales", factor_scales),
            ("translation", translation),
        ];
        define(Self, None, key, fields)
    }

    /// How many units in a ``duration``, or ``None``.
    #[getter]
    fn max<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "max"))
    }

    /// The span in which ``max`` units are admitted, in milliseconds, or ``None``.
    #[getter]
    fn duration<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "duration"))
    }

    /// The least time between two calls, in milliseconds, or ``None``.
    #[getter]
    fn min_interval<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "minInterval"))
    }

    /// What an actor's factor scales.
    #[getter]
    fn factor_scales<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "factorScales"))
    }

    /// How the fields are understood.
    #[getter]
    fn translation<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "translation"))
    }
}
