//! The end of the interpreter. It ends a daemon thread where that next asks for the interpreter's lock: by unwinding,
//! which no frame of Rust's lets through, so the whole process would abort.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use pyo3::prelude::*;

static ENDS: AtomicBool = AtomicBool::new(false);
/// The threads that have waited, and ask for the interpreter's lock.
static COMING: AtomicUsize = AtomicUsize::new(0);

/// The time for which a thread that has waited stays away from an interpreter that ends. Not for ever: what ends the
/// program may itself wait for that thread.
const AWAY: Duration = Duration::from_secs(1);

/// A millisecond lies between two of them.
const MOST_LOOKS: u32 = 1000;

/// Have threads that wait stay away from now on, and let in those that are coming; at the end of the program.
#[pyfunction(name = "_exiting", signature = ())]
pub(crate) fn exiting(py: Python<'_>) {
    ENDS.store(true, Ordering::SeqCst);
    let mut looks = 0..MOST_LOOKS;
    while COMING.load(Ordering::SeqCst) > 0 && looks.next().is_some() {
        py.detach(|| sleep(Duration::from_millis(1)));
    }
}

/// Forgets the threads of the parent.
pub(crate) fn after_fork() {
    COMING.store(0, Ordering::SeqCst);
}

/// Waits without the interpreter's lock, on the main thread or on one that the end of the interpreter may meet.
pub(crate) fn detached<T: Send>(py: Python<'_>, is_main: bool, wait: impl FnOnce() -> T + Send) -> T {
    if is_main {
        return py.detach(wait);
    }
    let waited = py.detach(|| {
        let waited = wait();
        COMING.fetch_add(1, Ordering::SeqCst);
        if ENDS.load(Ordering::SeqCst) {
            COMING.fetch_sub(1, Ordering::SeqCst);
            sleep(AWAY);
            COMING.fetch_add(1, Ordering::SeqCst);
        }
        waited
    });
    COMING.fetch_sub(1, Ordering::SeqCst);
    waited
}
