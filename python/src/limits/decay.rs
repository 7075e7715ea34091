//! A count that decays exponentially.

use pyo3::intern;
use pyo3::prelude::*;

use super::{Field, Key, Limit, Span, define};

/// A count of at most ``max`` that is divided by ``decay_factor`` every ``resolution``.
///
/// The resolution is milliseconds, or a ``timedelta``. One number is all that is kept. With ``count_blocked``, denied
/// attempts are charged as well, so that only a pause helps.
///
/// Raises ``LimitError`` for a value out of its bounds.
///
/// >>> from tidegate import Decay
/// >>> Decay("score", max=5, decay_factor=2, resolution=1000)
/// Decay('score', max=5, decay_factor=2, resolution=1000, count_blocked=False)
#[pyclass(frozen, extends = Limit, module = "tidegate")]
pub(crate) struct Decay;

#[pymethods]
impl Decay {
    #[new]
    #[pyo3(
        signature = (key, *, max, decay_factor, resolution, count_blocked = Field(None)),
        text_signature = "(key, *, max, decay_factor, resolution, count_blocked=False)"
    )]
    fn new(
        key: Key,
        max: Field,
        decay_factor: Field,
        resolution: Span,
        count_blocked: Field,
    ) -> PyResult<PyClassInitializer<Self>> {
        let fields = [
            ("max", max),
            ("decayFactor", decay_factor),
            ("resolution", resolution.into()),
            ("countBlocked", count_blocked),
        ];
        define(Self, Some("decay"), key, fields)
    }

    /// How large the count may be.
    #[getter]
    fn max<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "max"))
    }

    /// What the count is divided by.
    #[getter]
    fn decay_factor<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Limit::field(this.as_super(), intern!(this.py(), "decayFactor"))
    }

    /// How often it is divided, in milliseconds.
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
