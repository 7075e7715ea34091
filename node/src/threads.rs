//! The threads of this process that limit requests in memory.

use std::sync::atomic::{AtomicU32, Ordering};

use napi_derive::napi;

static SERVING: AtomicU32 = AtomicU32::new(0);

/// One of them, until the thread ends.
struct Serving;

thread_local! {
    static THIS_THREAD: Serving = {
        SERVING.fetch_add(1, Ordering::Relaxed);
        Serving
    };
}

impl Drop for Serving {
    fn drop(&mut self) {
        SERVING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The number of these threads, this one included: each has a memory of its own.
#[napi(catch_unwind)]
pub(crate) fn serving_threads() -> u32 {
    THIS_THREAD.with(|_| SERVING.load(Ordering::Relaxed))
}
