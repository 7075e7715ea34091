//! Waiting for a turn, for whoever brings a way to sleep.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tidegate::{Acquire, Step};

use crate::asked::Part;
use crate::errors::call_error;
use crate::info::LimitInfo;
use crate::receipt::{Asked, Owner, Receipt};
use crate::signals;

/// An ``acquire`` under way.
#[pyclass(frozen, name = "_Turn", module = "tidegate._tidegate")]
pub(crate) struct Turn {
    acquire: Mutex<Option<Acquire>>,
    owner: Owner,
    shared: bool,
    /// What was asked for, until the answer has it.
    asked: Mutex<Option<Asked>>,
}

#[pymethods]
impl Turn {
    /// The answer, or how many seconds to sleep before the next step.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.next(py)? {
            Next::Sleep(time) => Ok(time.as_secs_f64().into_pyobject(py)?.into_any()),
            Next::Answer(info) => Ok(Bound::new(py, info)?.into_any()),
        }
    }

    /// Leaves the line and gives a reservation back.
    fn give_up(&self) {
        self.acquire().take();
    }
}

/// What comes next of an ``acquire``.
enum Next {
    Sleep(Duration),
    Answer(LimitInfo),
}

impl Turn {
    pub(crate) fn new(acquire: Acquire, owner: Owner, shared: bool, parts: &[Part<'_, '_>]) -> PyResult<Self> {
        let asked = Mutex::new(Some(Asked::of(parts)?));
        Ok(Self { acquire: Mutex::new(Some(acquire)), owner, shared, asked })
    }

    /// Sleeps as Python does: other threads run, and a signal's handler may raise. Then what was reserved is given back.
    pub(crate) fn wait(&self, py: Python<'_>) -> PyResult<LimitInfo> {
        loop {
            match self.next(py)? {
                Next::Answer(info) => return Ok(info),
                Next::Sleep(time) => {
                    let slept = py.import("time")?.call_method1("sleep", (time.as_secs_f64(),));
                    slept.inspect_err(|_| self.give_up())?;
                }
            }
        }
    }

    fn next(&self, py: Python<'_>) -> PyResult<Next> {
        // Not under the lock: over a shared store other threads run meanwhile, and one might want it.
        let mut acquire = self.acquire().take();
        let step = match &mut acquire {
            Some(acquire) if self.shared => Some(signals::detached(py, || acquire.step())),
            acquire => acquire.as_mut().map(Acquire::step),
        };
        *self.acquire() = acquire;
        match step.transpose().map_err(call_error)? {
            None => Err(PyRuntimeError::new_err("this turn was given up")),
            Some(Step::Wait(time)) => Ok(Next::Sleep(time)),
            Some(Step::Done(info)) => {
                let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).take();
                let asked = asked.unwrap_or_else(|| Asked::Several(Box::default()));
                LimitInfo::of(py, Receipt::of_turn(self.owner, asked, &info), info).map(Next::Answer)
            }
        }
    }

    fn acquire(&self) -> MutexGuard<'_, Option<Acquire>> {
        self.acquire.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
