//! Holds of threads.

use pyo3::prelude::*;

use super::caller::{Answer, Given};
use super::hold::{Arguments, Hold};
use super::state::Limiter;
use crate::errors::StoreError;
use crate::info::{LazyInfo, LimitInfo};
use crate::once::{Once, intern};
use crate::renewals::Renewals;

/// Units that a block holds: see ``Limiter.hold``.
///
/// >>> from tidegate import Concurrency, Limiter, TokenBucket
/// >>> limiter = Limiter()
/// >>> exports, rows = Concurrency("exports", max=2, lease=60_000), TokenBucket("rows", count=100, period=60_000)
/// >>> with limiter.hold([exports, rows], "ada", costs=[1, 50]) as held:
/// ...     held.settle({"rows": 20})
/// >>> limiter.peek(exports, "ada").remaining, limiter.peek(rows, "ada").remaining
/// (2, 80)
#[pyclass(frozen, extends = Hold, module = "tidegate")]
pub(crate) struct Held;

#[pymethods]
impl Held {
    /// Hold what the call of this answer took just now.
    #[staticmethod]
    fn _of(py: Python<'_>, limiter: Py<Limiter>, info: Py<LimitInfo>) -> PyResult<Bound<'_, Self>> {
        let held = Self::object(py, limiter, None)?;
        Hold::start(held.as_super(), LazyInfo::Made(info), renewals(py)?, None)?;
        Ok(held)
    }

    /// Set when the units could not be renewed in time: others may have them.
    #[getter]
    fn lost_event(this: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        static EVENT: Once<Py<PyAny>> = Once::new();
        let event = this.as_super().get().lost_event(EVENT.import(this.py(), "threading", "Event")?)?;
        Ok(event.unbind())
    }

    fn __enter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        Hold::enter(this.as_super(), renewals(this.py())?)?;
        Ok(this.clone())
    }

    /// Release the units now; the end of the block, or a second call, then does nothing.
    fn release<'py>(this: &Bound<'py, Self>) -> Answer<'py> {
        this.as_super().get().release(this.py())
    }

    #[pyo3(signature = (kind, error, trace, /))]
    fn __exit__(
        this: &Bound<'_, Self>,
        kind: &Bound<'_, PyAny>,
        error: &Bound<'_, PyAny>,
        trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let _ = (kind, trace);
        let py = this.py();
        match this.as_super().get().leave(py) {
            // The lease gives them back. The error of the block matters more.
            Err(failure) if !error.is_none() && failure.is_instance_of::<StoreError>(py) => Ok(()),
            left => left.map(drop),
        }
    }

    /// Renew; called by the thread of all renewals.
    fn _due(this: &Bound<'_, Self>) -> PyResult<()> {
        let py = this.py();
        // Of Python's own, so that a library of greenlets may replace it.
        let lock = py.import(intern!(py, "_thread"))?.call_method0(intern!(py, "allocate_lock"))?;
        lock.call_method0(intern!(py, "acquire"))?;
        let renewed = Hold::renew_under(this.as_super(), &lock);
        lock.call_method0(intern!(py, "release"))?;
        renewed
    }
}

impl Held {
    fn object(py: Python<'_>, limiter: Py<Limiter>, arguments: Option<Arguments>) -> PyResult<Bound<'_, Self>> {
        Bound::new(py, PyClassInitializer::from(Hold::of(limiter, None, arguments)).add_subclass(Self))
    }
}

/// A hold, whose block takes the units.
pub(super) fn hold<'py>(limiter: &Bound<'py, Limiter>, given: &Given<'_, 'py>) -> Answer<'py> {
    let Given { limit, actor, cost, costs, factor, max_wait, context, .. } = *given;
    let arguments = [limit, actor, cost, costs, factor, max_wait, context];
    let arguments = arguments.map(|given| given.0.map(|given| given.to_owned().unbind()));
    Ok(Held::object(limiter.py(), limiter.clone().unbind(), Some(arguments))?.into_any())
}

/// The renewals of all that threads hold.
fn renewals(py: Python<'_>) -> PyResult<&Bound<'_, Renewals>> {
    static RENEWALS: Once<Py<Renewals>> = Once::new();
    let renewals = RENEWALS.get_or_try_init(|| {
        let thread = py.import("tidegate._renewals")?.getattr("renewals")?;
        PyResult::Ok(thread.getattr("calls")?.cast_into::<Renewals>()?.unbind())
    })?;
    Ok(renewals.bind(py))
}
