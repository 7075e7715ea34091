//! An `acquire` in steps, for callers with a way of their own to sleep.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use tidegate::acquire::{Acquire, Bell, Step};

use crate::errors::call_error;
use crate::request::Request;
use crate::{exit, signals};

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

    /// Have this function called, from any thread, whenever a sleep should end before its time.
    fn on_ring(&self, call: Py<PyAny>) {
        if let Some(bell) = self.bell() {
            bell.on_ring(Waker::from(Arc::new(Ring(call))));
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
        let sleeper = Sleeper::of(py, self.bell(), self.is_shared)?;
        loop {
            let step = self.step(py)?;
            let Ok(seconds) = step.extract::<f64>() else { return Ok(step) };
            sleeper.sleep(py, seconds).inspect_err(|_| self.cancel())?;
        }
    }

    fn bell(&self) -> Option<Bell> {
        self.state().as_ref().and_then(|(acquire, _)| acquire.bell().cloned())
    }

    fn state(&self) -> MutexGuard<'_, Option<(Acquire, Request)>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time between two looks at signals of the main thread.
const SLICE: Duration = Duration::from_millis(50);

/// The sleep of a thread between two steps.
enum Sleeper<'py> {
    /// By a library of greenlets, which has replaced Python's own sleep: nothing ends it before its time.
    Time(Bound<'py, PyAny>),
    /// By its locks: a release of units in memory ends it. Whoever releases them has the interpreter's lock.
    Lock(Bound<'py, PyAny>),
    /// By a thread of its own, which is or is not the main one. A bell ends it before its time.
    Own(Option<Bell>, bool),
}

impl<'py> Sleeper<'py> {
    fn of(py: Python<'py>, bell: Option<Bell>, is_shared: bool) -> PyResult<Self> {
        let sleep = py.import("time")?.getattr("sleep")?;
        if is_shared || sleep.is_exact_instance_of::<PyCFunction>() {
            return Ok(Self::Own(bell, signals::is_main_thread(py)?));
        }
        let Some(bell) = bell else { return Ok(Self::Time(sleep)) };
        let lock = py.import("_thread")?.call_method0("allocate_lock")?;
        lock.call_method0("acquire")?;
        bell.on_ring(Waker::from(Arc::new(Ring(lock.getattr("release")?.unbind()))));
        Ok(Self::Lock(lock.getattr("acquire")?))
    }

    fn sleep(&self, py: Python<'py>, seconds: f64) -> PyResult<()> {
        /// The longest wait for a lock on every platform, in seconds.
        const LONGEST: f64 = 4_000_000.0;
        match self {
            Self::Time(sleep) => sleep.call1((seconds,)).map(drop),
            Self::Lock(acquire) => acquire.call1((true, seconds.min(LONGEST))).map(drop),
            Self::Own(bell, is_main) => {
                let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
                let (mut left, mut rang) = (time, false);
                while !rang && !left.is_zero() {
                    let slice = if *is_main { left.min(SLICE) } else { left };
                    rang = exit::detached(py, *is_main, || {
                        if let Some(bell) = bell {
                            return bell.wait(slice);
                        }
                        thread::sleep(slice);
                        false
                    });
                    py.check_signals()?;
                    left -= slice;
                }
                Ok(())
            }
        }
    }
}

/// A function of Python's that a bell calls.
struct Ring(Py<PyAny>);

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        // A lock that is released already says so, and so does a loop that is closed.
        Python::try_attach(|py| drop(self.0.call0(py)));
    }
}
