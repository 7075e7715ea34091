//! Signals while a thread waits for a shared store: Python's handlers run on its main thread alone, and only when that
//! checks for signals.
//!
//! No other thread ever checks. A daemon thread may still wait when the interpreter ends, and one that attaches then finds
//! freed memory. The main thread is the one that ends the interpreter, so it cannot be waiting here meanwhile.

use std::cell::{Cell, RefCell};

use pyo3::prelude::*;
use pyo3::types::PyAny;

use crate::exit;
use crate::once::{Once, intern};

thread_local! {
    /// This thread waits, and is the one that handles signals.
    static HANDLES: Cell<bool> = const { Cell::new(false) };
    /// The exception of a handler, raised while this thread waited.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Does what may have to wait for a store, without the interpreter's lock.
pub(crate) fn detached<T: Send>(py: Python<'_>, call: impl FnOnce() -> T + Send) -> T {
    let is_main = is_main_thread(py).unwrap_or(false);
    let before = HANDLES.replace(is_main);
    let done = exit::detached(py, is_main, call);
    HANDLES.set(before);
    done
}

/// Has Python handle its signals, where this thread may; false once a handler raises.
pub(crate) fn handle() -> bool {
    if !HANDLES.get() {
        return true;
    }
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is of one lifetime")]
    let handled = Python::try_attach(|py| py.check_signals()).unwrap_or(Ok(()));
    handled.map_err(|error| RAISED.set(Some(error))).is_ok()
}

/// The exception that ended a wait.
pub(crate) fn raised() -> Option<PyErr> {
    RAISED.take()
}

/// Asked each time: of a child that another thread forked off, that thread is the main one.
pub(crate) fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    static MAIN_THREAD: Once<Py<PyAny>> = Once::new();
    static GET_IDENT: Once<Py<PyAny>> = Once::new();
    let main_thread = MAIN_THREAD.import(py, "threading", "main_thread")?.call0()?;
    let this = GET_IDENT.import(py, "threading", "get_ident")?.call0()?;
    main_thread.getattr(intern!(py, "ident"))?.eq(this)
}
