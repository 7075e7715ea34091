//! An `acquire` over a shared store, awaited without a thread of its own.

use pyo3::prelude::*;

use super::bridge::{Bridge, OnReply, ReplySender};
use crate::once::{Once, intern};
use crate::request::Request;

/// A handle to an ``acquire`` that goes on by itself.
#[pyclass(frozen, name = "_AcquireHandle", module = "tidegate._tidegate")]
pub(crate) struct AcquireHandle {
    /// The future of its answer.
    #[pyo3(get)]
    pub(crate) future: Py<PyAny>,
    handle: tidegate::acquire::AcquireHandle,
    sender: ReplySender,
}

#[pymethods]
impl AcquireHandle {
    fn __await__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static FINISH: Once<Py<PyAny>> = Once::new();
        let py = this.py();
        FINISH.import(py, "tidegate._loop", "finish")?.call1((this,))?.call_method0(intern!(py, "__await__"))
    }

    /// Leave the queue, or give back what was charged, once.
    pub(crate) fn cancel(&self) {
        self.handle.cancel();
        self.sender.forget();
    }
}

impl AcquireHandle {
    pub(crate) fn begin(
        bridge: &Bound<'_, Bridge>,
        acquire: tidegate::acquire::Acquire,
        request: Request,
    ) -> PyResult<Self> {
        let py = bridge.py();
        let sender = bridge.get().sender();
        let future = bridge.get().future(py, &sender, OnReply::Complete(Box::new(request)))?.unbind();
        let replied = sender.clone();
        let handle = acquire.spawn(move |reply, _| replied.send(reply)).inspect_err(|_| sender.forget())?;
        Ok(Self { future, handle, sender })
    }
}
