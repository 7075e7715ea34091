//! Receipts: giving back what one call charged, or correcting it, once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;
use crate::charge::{Charge, ONE_EACH};
use crate::check::{Check, OwnedCheck};
use crate::decision::Call;
use crate::error::LimitError;
use crate::info::LimitInfo;
use crate::limiter::Limiter;
use crate::time::Micros;

/// The receipt of one call: its charge can be given back, or settled for the actual cost, once.
///
/// At any time, it never frees units of a later call. A second use, and one where nothing was charged, changes nothing
/// and answers as a peek. A use that failed counts if the store
/// [may have carried it out](crate::remote::Failure::may_have_happened); otherwise it may be tried again. An answer
/// that is [degraded](LimitInfo::degraded) counts.
///
/// ```
/// use tidegate::{Call, Check, Limit, Limiter, Memory};
///
/// let limiter = Limiter::new(Memory::new());
/// let tokens = Limit::bucket("tokens", 1000).build()?;
///
/// let checks = [Check::new(&tokens, "ada").cost(400)]; // an estimate
/// let info = limiter.decide_sync(&checks, Call::Limit)?;
/// let receipt = limiter.receipt(&checks, Call::Limit, &info);
/// assert_eq!(receipt.settle_sync(&[150])?.remaining, 850);
/// assert_eq!(receipt.refund_sync()?.remaining, 850);
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Debug)]
pub struct Receipt {
    limiter: Limiter,
    checks: Box<[OwnedCheck]>,
    charge: Charge,
    open: AtomicBool,
}

impl Limiter {
    /// The receipt of a call of this limiter, made of its checks, the call and the answer.
    #[must_use]
    pub fn receipt(&self, checks: &[Check<'_>], call: Call, info: &LimitInfo) -> Receipt {
        Receipt {
            limiter: self.clone(),
            checks: checks.iter().map(OwnedCheck::from).collect(),
            charge: info.into(),
            open: AtomicBool::new(call.charges()),
        }
    }
}

impl Receipt {
    /// True until it is used, if its call charged something.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// The checks of its call, in order.
    #[must_use]
    pub fn checks(&self) -> Vec<Check<'_>> {
        self.checks.iter().map(OwnedCheck::check).collect()
    }

    /// Gives back the charge of the call, less the units that have drained since.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn refund(&self) -> Result<LimitInfo, Error> {
        self.settle(&self.nothing()).await
    }

    /// [`refund`](Self::refund) on this thread.
    ///
    /// # Errors
    /// As [`refund`](Self::refund).
    pub fn refund_sync(&self) -> Result<LimitInfo, Error> {
        self.settle_sync(&self.nothing())
    }

    /// Replaces the cost of each check by the actual one in `spent`: gives back the excess, less the units that have
    /// drained since, or charges the rest, even if it does not fit.
    ///
    /// # Errors
    /// When `spent` is not one cost for each check, when the level would leave the exact range, and when the store
    /// fails.
    pub async fn settle(&self, spent: &[u64]) -> Result<LimitInfo, Error> {
        let (open, checks, call) = self.take(spent)?;
        self.taken(open, self.limiter.decide(&checks, call).await)
    }

    /// [`settle`](Self::settle) on this thread.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub fn settle_sync(&self, spent: &[u64]) -> Result<LimitInfo, Error> {
        let (open, checks, call) = self.take(spent)?;
        self.taken(open, self.limiter.decide_sync(&checks, call))
    }

    /// [`settle`](Self::settle) at an instant that the caller gives.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub async fn settle_at(&self, spent: &[u64], now: Micros) -> Result<LimitInfo, Error> {
        let (open, checks, call) = self.take(spent)?;
        self.taken(open, self.limiter.decide_at(&checks, call, now).await)
    }

    /// [`settle_sync`](Self::settle_sync) at an instant that the caller gives.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub fn settle_sync_at(&self, spent: &[u64], now: Micros) -> Result<LimitInfo, Error> {
        let (open, checks, call) = self.take(spent)?;
        self.taken(open, self.limiter.decide_sync_at(&checks, call, now))
    }

    fn nothing(&self) -> Vec<u64> {
        vec![0; self.checks.len()]
    }

    /// Uses it: whether it was open, and the call to make.
    fn take(&self, spent: &[u64]) -> Result<(bool, Vec<Check<'_>>, Call), LimitError> {
        let mut checks = self.checks();
        if spent.len() != checks.len() {
            let given = format!("{} costs for {} checks", spent.len(), checks.len());
            let key = checks.first().map_or("", |check| check.limit.key());
            return Err(LimitError::range(key, "cost", ONE_EACH, given));
        }
        let open = self.open.swap(false, Ordering::Relaxed);
        let call = self.charge.settle(open, &mut checks, spent);
        Ok((open, checks, call))
    }

    /// Opens the receipt again if its use certainly did not happen.
    fn taken(&self, open: bool, answer: Result<LimitInfo, Error>) -> Result<LimitInfo, Error> {
        if open && answer.as_ref().is_err_and(|error| !error.may_have_happened()) {
            self.open.store(true, Ordering::Relaxed);
        }
        answer
    }
}
