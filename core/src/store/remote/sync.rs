//! Atomics, locks and threads of the hand-made parts, which a test replaces to try every order of their steps.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};
pub(super) use std::sync::{Mutex, MutexGuard, OnceLock};
pub(super) use std::thread::{Thread, current};
use std::time::{Duration, Instant};

/// Sleeps until this thread is unparked, or for this time: true if that is over.
pub(super) fn park_for(time: Duration) -> bool {
    let began = Instant::now();
    std::thread::park_timeout(time);
    began.elapsed() >= time
}
