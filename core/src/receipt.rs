//! Receipts: giving back what one call charged, or correcting it, once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;
use crate::charge::{Charge, ONE_EACH, OfHeld, holds_some};
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

    /// Its call was decided by this process alone.
    #[cfg(feature = "remote")]
    pub(crate) fn is_degraded(&self) -> bool {
        self.charge.degraded
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

    /// [`settle`](Self::settle) without waiting for it; where it fails, no caller is left for an error.
    #[cfg(feature = "remote")]
    pub(crate) fn settle_soon(&self, spent: &[u64]) {
        if let Ok((_, checks, call)) = self.take(spent) {
            drop(self.limiter.start(&checks, call, None, |_| Ok(())));
        }
    }

    /// [`release`](Self::release) without waiting for it, likewise.
    #[cfg(feature = "remote")]
    pub(crate) fn release_soon(&self) {
        if let Ok((_, checks, call)) = self.of_held(OfHeld::Release) {
            drop(self.limiter.start(&checks, call, None, |_| Ok(())));
        }
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

    /// Gives back the units that the call holds in limits of type concurrency, and nothing else of it; the answer is that
    /// of those limits.
    ///
    /// # Errors
    /// When no limit of the call is of that type, and when the store fails.
    pub async fn release(&self) -> Result<LimitInfo, Error> {
        let (open, checks, call) = self.of_held(OfHeld::Release)?;
        self.taken(open, self.limiter.decide(&checks, call).await)
    }

    /// [`release`](Self::release) on this thread.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn release_sync(&self) -> Result<LimitInfo, Error> {
        let (open, checks, call) = self.of_held(OfHeld::Release)?;
        self.taken(open, self.limiter.decide_sync(&checks, call))
    }

    /// [`release_sync`](Self::release_sync) at an instant that the caller gives.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn release_sync_at(&self, now: Micros) -> Result<LimitInfo, Error> {
        let (open, checks, call) = self.of_held(OfHeld::Release)?;
        self.taken(open, self.limiter.decide_sync_at(&checks, call, now))
    }

    /// Holds the units of the call in limits of type concurrency for another lease, where all of them are held still.
    /// The answer is then as that of a charge, and comes with a receipt in place of this one, which is used. Else
    /// the answer is blocked: the caller has lost its place, and must stop or ask again.
    ///
    /// # Errors
    /// As [`release`](Self::release). This receipt is as it was then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::{Call, Check, Limit, Limiter, Memory};
    ///
    /// let exports = Limit::concurrency("exports", 1, Duration::from_secs(60)).build()?;
    /// let (limiter, checks) = (Limiter::new(Memory::new()), [Check::new(&exports, "ada")]);
    /// let info = limiter.decide_sync_at(&checks, Call::Limit, 0)?;
    /// let receipt = limiter.receipt(&checks, Call::Limit, &info);
    ///
    /// let (info, receipt) = receipt.renew_sync_at(50_000_000)?;
    /// assert!(info.allowed());
    /// assert!(receipt.renew_sync_at(110_000_000)?.0.blocked, "its lease was over");
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    pub async fn renew(&self) -> Result<(LimitInfo, Self), Error> {
        let (open, checks, call) = self.of_held(OfHeld::Renew)?;
        Ok(self.renewed(open, self.limiter.decide(&checks, call).await?))
    }

    /// [`renew`](Self::renew) on this thread.
    ///
    /// # Errors
    /// As [`renew`](Self::renew).
    pub fn renew_sync(&self) -> Result<(LimitInfo, Self), Error> {
        let (open, checks, call) = self.of_held(OfHeld::Renew)?;
        Ok(self.renewed(open, self.limiter.decide_sync(&checks, call)?))
    }

    /// [`renew_sync`](Self::renew_sync) at an instant that the caller gives.
    ///
    /// # Errors
    /// As [`renew`](Self::renew).
    pub fn renew_sync_at(&self, now: Micros) -> Result<(LimitInfo, Self), Error> {
        let (open, checks, call) = self.of_held(OfHeld::Renew)?;
        Ok(self.renewed(open, self.limiter.decide_sync_at(&checks, call, now)?))
    }

    fn nothing(&self) -> Vec<u64> {
        vec![0; self.checks.len()]
    }

    /// True if it is open, and the call about the units that it holds; to give them back uses it.
    fn of_held(&self, what: OfHeld) -> Result<(bool, Vec<Check<'_>>, Call), LimitError> {
        let mut checks = self.checks();
        holds_some(&checks)?;
        let open = if what == OfHeld::Release { self.open.swap(false, Ordering::Relaxed) } else { self.is_open() };
        let (held, call) = self.charge.on_held(what, open, &mut checks);
        checks.truncate(held);
        Ok((open, checks, call))
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

    /// The answer of a renewal, and the receipt of all that the call is still charged.
    fn renewed(&self, open: bool, info: LimitInfo) -> (LimitInfo, Self) {
        let renewed = self.charge.renewed(&self.checks(), &(&info).into()).filter(|_| open);
        if renewed.is_some() {
            self.open.store(false, Ordering::Relaxed);
        }
        let receipt = Self {
            limiter: self.limiter.clone(),
            checks: self.checks.clone(),
            open: AtomicBool::new(renewed.is_some()),
            charge: renewed.unwrap_or_else(|| self.charge.clone()),
        };
        (info, receipt)
    }

    /// Opens the receipt again if its use certainly did not happen.
    fn taken(&self, open: bool, answer: Result<LimitInfo, Error>) -> Result<LimitInfo, Error> {
        if open && answer.as_ref().is_err_and(|error| !error.may_have_happened()) {
            self.open.store(true, Ordering::Relaxed);
        }
        answer
    }
}
