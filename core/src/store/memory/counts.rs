//! The calls that a store has decided.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Memory;
use crate::error::Error;
use crate::info::LimitInfo;

/// The calls that are not counted in a table: of several entries or none, and those that failed.
#[derive(Debug, Default)]
pub(super) struct Counts {
    admitted: AtomicU64,
    blocked: AtomicU64,
    failed: AtomicU64,
}

impl Memory {
    /// Counts a call that no table has counted.
    pub(crate) fn count(&self, answer: &Result<LimitInfo, Error>, gives_back: bool) {
        let counter = match answer {
            Err(_) => &self.counts.failed,
            Ok(info) if info.blocked && !gives_back => &self.counts.blocked,
            Ok(_) => &self.counts.admitted,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The calls that were admitted, denied, and ended in an error.
    #[cfg(feature = "remote")]
    pub(crate) fn counted(&self) -> [u64; 3] {
        let Counts { admitted, blocked, failed } = &self.counts;
        let mut counted = [admitted, blocked, failed].map(|counter| counter.load(Ordering::Relaxed));
        for shard in &self.shards {
            let table = shard.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            for (sum, count) in counted.iter_mut().zip(table.counts()) {
                *sum += count;
            }
        }
        counted
    }
}
