//! Waiting for a turn at a shared store, without a thread of one's own.

use pyo3::prelude::*;
use tidegate::{Acquire, AcquireHandle};

use crate::bridge::{About, Bridge, Reply};
use crate::limiter::Limiter;

/// An ``acquire`` that the engine's own thread goes on with.
#[pyclass(frozen, name = "_Waiting", module = "tidegate._tidegate")]
pub(crate) struct Waiting {
    /// What to await.
    #[pyo3(get)]
    pub(crate) future: Py<PyAny>,
    handle: AcquireHandle,
    reply: Reply,
}

#[pymethods]
impl Waiting {
    /// Leaves the line, or gives back what was charged, once.
    pub(crate) fn give_up(&self) {
        self.handle.cancel();
        self.reply.forget();
    }
}

impl Waiting {
    pub(crate) fn begin(
        py: Python<'_>,
        limiter: &Limiter,
        acquire: Acquire,
        about: About,
        bridge: &Bound<'_, Bridge>,
    ) -> PyResult<Self> {
        limiter.attend(py);
        let reply = bridge.get().reply();
        let future = bridge.get().future(py, &reply, about)?;
        let answered = reply.clone();
        let handle = acquire.spawn(move |answer, _| answered.send(answer)).inspect_err(|_| reply.forget())?;
        Ok(Self { future: future.unbind(), handle, reply })
    }
}
