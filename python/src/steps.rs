//! An `acquire` in steps, for callers with a way of their own to sleep.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tidegate::acquire::{Acquire, Step};

use crate::errors::call_error;
use crate::request::Request;
use crate::signals;

/// An ``acquire`` whose caller sleeps between its steps.
#[pyclass(frozen, name = "_AcquireSteps", module = "tidegate._tidegate")]
pub(crate) struct AcquireSteps {
    state: Mutex<Option<(Acquire, Request)>>,
    is_shared: bool,
}

#[pymethods]
impl AcquireSteps {
    /// Take the next step: the answer, or the seconds to sleep before the next one.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // Not under the lock: over a shared store other threads run meanwhile, and one might want it.
        let taken = self.state().take();
        let Some((mut acquire, request)) = taken else {
            return Err(PyRuntimeError::new_err("this acquire is over"));
        };
        let step = if self.is_shared { signals::detached(py, || acquire.step()) } else { acquire.step() };
        match step.map_err(call_error)? {
            Step::Done(info) => request.complete(py, Ok(info)),
            Step::Wait(time) => {
                *self.state() = Some((acquire, request));
                Ok(time.as_secs_f64().into_pyobject(py)?.into_any())
            }
        }
    }

    /// Leave the queue and give a reservation back.
    fn cancel(&self) {
        let taken = self.state().take();
        drop(taken);
    }
}

impl AcquireSteps {
    pub(crate) fn new(acquire: Acquire, request: Request, is_shared: bool) -> Self {
        Self { state: Mutex::new(Some((acquire, request))), is_shared }
    }

    /// Takes all steps and sleeps as Python does: other threads run, and the handler of a signal may raise. Then a
    /// reservation is given back.
    pub(crate) fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loop {
            let step = self.step(py)?;
            let Ok(seconds) = step.cast::<pyo3::types::PyFloat>() else { return Ok(step) };
            py.import("time")?.call_method1("sleep", (seconds,)).inspect_err(|_| self.cancel())?;
        }
    }

    fn state(&self) -> MutexGuard<'_, Option<(Acquire, Request)>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
