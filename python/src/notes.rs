//! What the engine has to say when nobody asked: events of a store, for Python's logging.
//!
//! The thread that talks to a store must not wait for the interpreter's lock, so it leaves a note, and a daemon thread
//! of Python's, one in a process, writes it down. That thread also wakes event loops that cannot watch a socket.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwapOption;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate::Event;

use crate::bridge::wake_loop;
use crate::mailbox::{Bell, Line, Mailbox};

enum Note {
    Happened(Event),
    /// Something waits in the mailbox of the bridge of this number.
    Wake(u64),
    /// The interpreter is about to end.
    End,
}

/// Not behind a lock: a child that was forked off while another thread held it could never take it.
static NOTES: ArcSwapOption<Mailbox<Note>> = ArcSwapOption::const_empty();
/// Whether this process has its thread.
static LISTENING: AtomicBool = AtomicBool::new(false);
/// As many notes are kept of a store whose events nobody gets around to write down.
const MOST_NOTES: usize = 1000;

/// Leaves a note of what happened to a store.
pub(crate) fn tell(event: &Event) {
    if let Some(notes) = &*NOTES.load() {
        notes.put_among(MOST_NOTES, Note::Happened(event.clone()));
    }
}

/// Writes down what happened to a store in memory, whose calls hold the interpreter's lock already: no thread is
/// started for it.
pub(crate) fn log(event: &Event) {
    Python::attach(|py| {
        let written = record(py, event).and_then(|(level, message, more)| {
            let given = PyDict::new(py);
            given.set_item("extra", more)?;
            let log = py.import("logging")?.call_method1("getLogger", ("tidegate",))?;
            log.call_method("log", (level, "%s", message), Some(&given))
        });
        if let Err(error) = written {
            // Somebody's filter or handler; the call that is under way is not to fail for it.
            error.write_unraisable(py, None);
        }
    });
}

/// Has the process's thread wake a loop.
pub(crate) fn wake(bridge: u64) {
    if let Some(notes) = &*NOTES.load() {
        notes.put(Note::Wake(bridge));
    }
}

/// Makes sure that there is a thread in this process that writes notes down.
#[inline]
pub(crate) fn listen(py: Python<'_>) -> PyResult<()> {
    if LISTENING.load(Ordering::Relaxed) { Ok(()) } else { start(py) }
}

#[cold]
fn start(py: Python<'_>) -> PyResult<()> {
    if LISTENING.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let started = Line::new().map_err(PyErr::from).and_then(|line| {
        let descriptor = line.descriptor();
        NOTES.store(Some(Arc::new(Mailbox::new(Bell::Socket(line)))));
        py.import("tidegate._log")?.call_method1("start", (descriptor,))
    });
    // The next call tries again.
    started.inspect_err(|_| LISTENING.store(false, Ordering::Relaxed)).map(drop)
}

/// The threads of the parent are not here, and what they share with it is not to be touched.
pub(crate) fn after_fork() {
    LISTENING.store(false, Ordering::Relaxed);
    mem::forget(NOTES.swap(None));
}

/// A level, a message, and what else a log record is to have.
type Record<'py> = (u8, String, Bound<'py, PyDict>);

/// What has been noted: records for the log, or ``None`` once it is over. Wakes who is to be woken.
#[pyfunction]
#[pyo3(name = "_notes", signature = ())]
pub(crate) fn notes(py: Python<'_>) -> PyResult<Vec<Option<Record<'_>>>> {
    let Some(notes) = NOTES.load_full() else { return Ok(vec![None]) };
    let mut records = Vec::new();
    for note in notes.take() {
        match note {
            Note::Happened(event) => records.push(Some(record(py, &event)?)),
            Note::Wake(bridge) => wake_loop(py, bridge),
            Note::End => records.push(None),
        }
    }
    Ok(records)
}

/// Ends the thread, and makes sure that no other begins.
#[pyfunction]
#[pyo3(name = "_end_notes", signature = ())]
pub(crate) fn end() {
    if let Some(notes) = &*NOTES.load() {
        notes.put(Note::End);
    }
}

fn record<'py>(py: Python<'py>, event: &Event) -> PyResult<Record<'py>> {
    const INFO: u8 = 20;
    const WARNING: u8 = 30;
    let more = PyDict::new(py);
    more.set_item("event", event.kind.name())?;
    more.set_item("server", &event.server)?;
    more.set_item("failure", event.kind.failure().map(tidegate::Failure::name))?;
    Ok((if event.kind.is_warning() { WARNING } else { INFO }, event.to_string(), more))
}
