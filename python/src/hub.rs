//! Calls in a greenlet of gevent, which leaves its thread to others until the reply is there.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict};

use crate::aio::bridge::{Bridge, OnReply, ReplySender};
use crate::once::{Once, intern};
use crate::request::Reply;

/// The hub of this thread, where the current greenlet can wait in it.
pub(crate) struct Hub<'py>(Bound<'py, PyAny>);

impl<'py> Hub<'py> {
    /// `None` in programs without gevent; it costs them one look-up in a dict.
    pub(crate) fn current(py: Python<'py>) -> PyResult<Option<Self>> {
        static MODULES: Once<Py<PyDict>> = Once::new();
        static CURRENT: Once<Py<PyAny>> = Once::new();
        let modules = MODULES
            .get_or_try_init(|| PyResult::Ok(py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?.unbind()))?;
        let modules = modules.bind(py);
        if !modules.contains(intern!(py, "gevent"))? {
            return Ok(None);
        }
        let hub = CURRENT.import(py, "tidegate._green", "current")?.call0()?;
        Ok(if hub.is_none() { None } else { Some(Self(hub)) })
    }

    /// The bridge for replies to its greenlets.
    pub(crate) fn bridge(&self) -> PyResult<Bound<'py, Bridge>> {
        Bridge::of(&self.0)
    }

    /// Lets others run until this future is done.
    pub(crate) fn wait(&self, future: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.0.call_method1(intern!(self.0.py(), "wait"), (future,))
    }

    /// Makes a call in a thread of the system's own, and waits for it.
    pub(crate) fn aside<T: Send + 'static>(&self, call: impl Fn() -> T + Send + Sync + 'static) -> PyResult<T> {
        let py = self.0.py();
        let kept = Arc::new(Mutex::new(None));
        let keep = kept.clone();
        let work = PyCFunction::new_closure(py, None, None, move |arguments, _| {
            let done = arguments.py().detach(&call);
            *keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        })?;
        self.0.call_method1(intern!(py, "aside"), (work,))?;
        let done = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        done.ok_or_else(|| PyRuntimeError::new_err("a thread ended without its answer"))
    }

    /// Begins a call and waits for its reply.
    pub(crate) fn decide(&self, begin: impl FnOnce(&ReplySender) -> Option<Reply>) -> PyResult<Reply> {
        let bridge = self.bridge()?;
        let sender = bridge.get().sender();
        if let Some(reply) = begin(&sender) {
            return Ok(reply);
        }
        let kept = Arc::new(Mutex::new(None));
        let future = bridge.get().future(self.0.py(), &sender, OnReply::Keep(kept.clone()))?;
        self.wait(&future).inspect_err(|_| sender.forget())?;
        let reply = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        reply.ok_or_else(|| PyRuntimeError::new_err("a future was done without its reply"))
    }
}
