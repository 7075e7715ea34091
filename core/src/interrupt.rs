//! Interrupts of a thread that waits for a shared store.

use std::sync::OnceLock;
use std::time::Duration;

/// The longest that a host has to wait until it is asked again whether to go on.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

static WHILE_WAITING: OnceLock<fn() -> bool> = OnceLock::new();

/// Has every thread that waits for a shared store ask `go_on` each 50 ms: at false it stops waiting, and its call ends in
/// [`Error::Interrupted`](crate::Error::Interrupted). For hosts whose signals only a running program can handle. The
/// first one of a process stays.
pub fn while_waiting(go_on: fn() -> bool) {
    // A second one is the same host's.
    let _ = WHILE_WAITING.set(go_on);
}

pub(crate) fn asked_while_waiting() -> Option<fn() -> bool> {
    WHILE_WAITING.get().copied()
}
