//! The memory of a limiter outside of V8's heap, so that V8 collects unused limiters in time.

use std::cell::Cell;
use std::ops::Deref;

use napi::sys;
use tidegate::Limiter;

/// A limiter, and how much memory V8 knows it to stand for.
pub(crate) struct Weighed {
    limiter: Limiter,
    reported: Cell<usize>,
}

/// About what an empty limiter takes, what the first entries of its tables add each, and what every entry takes.
const EMPTY_BYTES: usize = 12_288;
const TABLES: usize = 64;
const TABLE_BYTES: usize = 2560;
const ENTRY_BYTES: usize = 48;

impl Weighed {
    pub(crate) fn new(limiter: Limiter) -> Self {
        Self { limiter, reported: Cell::new(0) }
    }

    /// Reports to V8 what the limiter weighs now.
    #[cold]
    pub(crate) fn weigh(&self, env: sys::napi_env) {
        let entries = self.limiter.memory().len();
        self.tell(env, EMPTY_BYTES + entries.min(TABLES) * TABLE_BYTES + entries * ENTRY_BYTES);
    }

    /// Reports to V8 that the limiter is gone.
    pub(crate) fn weightless(self, env: sys::napi_env) {
        self.tell(env, 0);
    }

    fn tell(&self, env: sys::napi_env, bytes: usize) {
        let before = self.reported.replace(bytes);
        let more = i64::try_from(bytes).unwrap_or(i64::MAX) - i64::try_from(before).unwrap_or(i64::MAX);
        let mut all = 0;
        // SAFETY: the environment is that of the call under way, and the result outlives the call.
        unsafe { sys::napi_adjust_external_memory(env, more, &raw mut all) };
    }
}

impl Deref for Weighed {
    type Target = Limiter;

    #[inline]
    fn deref(&self) -> &Limiter {
        &self.limiter
    }
}
