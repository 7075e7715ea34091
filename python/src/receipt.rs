//! Receipts: the checks of an answer, and whether its charge may still be given back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tidegate::Call;

use crate::check::Checks;

/// The number of the limiter that gave an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner(u64);

impl Owner {
    pub(crate) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

pub(crate) struct Receipt {
    pub(crate) owner: Owner,
    pub(crate) checks: Checks,
    open: AtomicBool,
}

impl Receipt {
    #[inline]
    pub(crate) fn new(owner: Owner, call: Call, checks: Checks) -> Self {
        Self { owner, checks, open: AtomicBool::new(call.charges()) }
    }

    /// The receipt of a wait; one that was denied was not charged.
    pub(crate) fn of_wait(owner: Owner, checks: Checks, info: &tidegate::LimitInfo) -> Self {
        Self::new(owner, if info.blocked { Call::Peek } else { Call::Limit }, checks)
    }

    /// True for the first caller alone.
    pub(crate) fn close(&self) -> bool {
        self.open.swap(false, Ordering::Relaxed)
    }

    /// Undoes [`close`](Self::close) after a settlement that certainly did not happen.
    pub(crate) fn reopen(&self) {
        self.open.store(true, Ordering::Relaxed);
    }
}
