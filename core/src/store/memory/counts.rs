//! The calls that a store has decided.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::info::LimitInfo;

/// The calls that are not counted in a table: of several entries or none, and those that failed.
#[derive(Debug, Default)]
pub(super) struct Counts {
    admitted: AtomicU64,
    blocked: AtomicU64,
    failed: AtomicU64,
}

impl Counts {
    pub(super) fn count(&self, answer: &Result<LimitInfo, Error>, gives_back: bool) {
        let counter = match answer {
            Err(_) => &self.failed,
            Ok(info) if info.blocked && !gives_back => &self.blocked,
            Ok(_) => &self.admitted,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The calls that were admitted, denied, and ended in an error.
    #[cfg(feature = "remote")]
    pub(super) fn read(&self) -> [u64; 3] {
        [&self.admitted, &self.blocked, &self.failed].map(|counter| counter.load(Ordering::Relaxed))
    }
}
