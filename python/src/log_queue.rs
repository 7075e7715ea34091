//! The log queue: events of stores on their way to Python's logging.
//!
//! The thread that talks to a store must not wait for the interpreter's lock. So it queues its events, and a daemon
//! thread of Python's, one in a process, logs them. That thread also wakes event loops that cannot watch a socket.

use std::mem;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate::remote::Event;

use crate::queue::{Queue, Waker};
use crate::socket_pair::SocketPair;

enum Item {
    Event(Event),
    /// A function to call with this number, on the thread that logs.
    Call(fn(Python<'_>, u64), u64),
    /// The interpreter is about to end.
    End,
}

/// The queue of this process, there as soon as its thread is started or about to be: one word, so that no thread finds the
/// one without the other. Not behind a lock: a child that was forked off while another thread held it could never take
/// it.
static QUEUE: ArcSwapOption<Queue<Item>> = ArcSwapOption::const_empty();
/// Later events are dropped while so many have not been logged.
const MOST_ITEMS: usize = 1000;

/// Queues an event of a shared store.
pub(crate) fn push(event: &Event) {
    if let Some(queue) = &*QUEUE.load() {
        queue.push_below(MOST_ITEMS, Item::Event(event.clone()));
    }
}

/// Has the thread that logs call a function.
pub(crate) fn call(function: fn(Python<'_>, u64), number: u64) {
    if let Some(queue) = &*QUEUE.load() {
        queue.push(Item::Call(function, number));
    }
}

/// Logs an event of a store in memory at once: its calls hold the interpreter's lock, so no thread is needed.
pub(crate) fn log(event: &Event) {
    Python::attach(|py| {
        let logged = record(py, event).and_then(|(level, message, extra)| {
            let given = PyDict::new(py);
            given.set_item("extra", extra)?;
            let logger = py.import("logging")?.call_method1("getLogger", ("tidegate",))?;
            logger.call_method("log", (level, "%s", message), Some(&given))
        });
        if let Err(error) = logged {
            // From a filter or handler of the program; the call under way must not fail for it.
            error.write_unraisable(py, None);
        }
    });
}

/// Starts the thread of this process that logs, unless it runs.
#[inline]
pub(crate) fn ensure_started(py: Python<'_>) -> PyResult<()> {
    if QUEUE.load().is_some() { Ok(()) } else { start(py) }
}

#[cold]
fn start(py: Python<'_>) -> PyResult<()> {
    let pair = SocketPair::new()?;
    let descriptor = pair.descriptor();
    let queue = Arc::new(Queue::new(Waker::Socket(pair)));
    if QUEUE.compare_and_swap(&None::<Arc<Queue<Item>>>, Some(queue)).is_some() {
        // Another thread was first.
        return Ok(());
    }
    let started = py.import("tidegate._log").and_then(|module| module.call_method1("start", (descriptor,)));
    // The next call tries again.
    started.inspect_err(|_| QUEUE.store(None)).map(drop)
}

/// Leaks the queue of the parent, whose threads are not here and may hold its locks.
pub(crate) fn after_fork() {
    mem::forget(QUEUE.swap(None));
}

/// A level, a message, and the extra attributes of a log record.
type Record<'py> = (u8, String, Bound<'py, PyDict>);

/// Take the records of the log queue; ``None`` is the end of it. Call the functions in it.
#[pyfunction]
#[pyo3(name = "_take_log_records", signature = ())]
pub(crate) fn take_log_records(py: Python<'_>) -> PyResult<Vec<Option<Record<'_>>>> {
    let Some(queue) = QUEUE.load_full() else { return Ok(vec![None]) };
    let mut records = Vec::new();
    for item in queue.take() {
        match item {
            Item::Event(event) => records.push(Some(record(py, &event)?)),
            Item::Call(function, number) => function(py, number),
            Item::End => records.push(None),
        }
    }
    Ok(records)
}

/// End the thread that logs, and let no other start.
#[pyfunction]
#[pyo3(name = "_end_log", signature = ())]
pub(crate) fn end_log() {
    if let Some(queue) = &*QUEUE.load() {
        queue.push(Item::End);
    }
}

fn record<'py>(py: Python<'py>, event: &Event) -> PyResult<Record<'py>> {
    const INFO: u8 = 20;
    const WARNING: u8 = 30;
    let extra = PyDict::new(py);
    extra.set_item("event", event.kind.name())?;
    extra.set_item("server", &event.server)?;
    extra.set_item("failure", event.kind.failure().map(tidegate::remote::Failure::name))?;
    Ok((if event.kind.is_warning() { WARNING } else { INFO }, event.to_string(), extra))
}
