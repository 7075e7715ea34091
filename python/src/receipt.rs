//! Receipts: the checks of an answer, and whether its charge may still be given back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tidegate::Call;
use tidegate::ffi::Charge;

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
    /// Of an answer about units that are held: all checks of the call, and what is charged of them.
    pub(crate) whole: Option<Box<(Checks, Charge)>>,
}

impl Receipt {
    #[inline]
    pub(crate) fn new(owner: Owner, call: Call, checks: Checks) -> Self {
        Self { owner, checks, open: AtomicBool::new(call.charges()), whole: None }
    }

    /// The receipt of a wait; one that was denied gives nothing back, because its answer does not say whether it was
    /// charged.
    pub(crate) fn of_wait(owner: Owner, checks: Checks, info: &tidegate::LimitInfo) -> Self {
        Self::new(owner, if info.blocked { Call::Peek } else { Call::Limit }, checks)
    }

    /// The receipt of an answer about the `held` ones of these checks, which is open where they were renewed.
    pub(crate) fn of_held(owner: Owner, held: Checks, checks: Checks, renewed: Option<Charge>) -> Self {
        let open = AtomicBool::new(renewed.is_some());
        Self { owner, checks: held, open, whole: renewed.map(|charge| Box::new((checks, charge))) }
    }

    /// The checks of the call that was charged.
    pub(crate) fn all_checks(&self) -> &Checks {
        self.whole.as_ref().map_or(&self.checks, |whole| &whole.0)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
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
