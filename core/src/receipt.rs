//! Receipts: giving back what one call charged, or correcting it, once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;
use crate::check::{Check, OwnedCheck};
use crate::decision::Call;
use crate::error::LimitError;
use crate::info::LimitInfo;
use crate::limiter::Limiter;
use crate::time::Micros;

/// The receipt of one call: what it charged can be given back, or settled for what it really cost, once.
///
/// However late it comes, it never frees what a later call charged. After a second use, and where nothing was charged,
/// the answer says how things stand and nothing changes. A use that failed counts where the store
/// [may have carried it out](crate::Failure::may_have_happened), and may be tried again where it certainly did not; an
/// answer that is [degraded](LimitInfo::degraded) counts.
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

/// The charge that an answer names.
#[derive(Clone, Debug)]
pub struct Charge {
    /// [`LimitInfo::at`].
    pub at: Micros,
    /// The same of each of [`LimitInfo::checks`], where they are of several instants: a log whose clock was set back
    /// charges at its last instant. Else empty.
    pub each: Vec<Micros>,
    /// [`LimitInfo::blocked`]: only those checks were charged whose limits count denied attempts.
    pub denied: bool,
    /// [`LimitInfo::degraded`]: it was made by this process alone.
    pub degraded: bool,
}

impl From<&LimitInfo> for Charge {
    fn from(info: &LimitInfo) -> Self {
        Self::dated(info, |info| info.at)
    }
}

impl Call {
    /// True if its answer is a receipt: the call charges what it admits.
    #[must_use]
    pub const fn charges(self) -> bool {
        matches!(self, Self::Limit | Self::Charge | Self::Acquire { .. })
    }
}

impl Charge {
    fn dated(info: &LimitInfo, at: impl Fn(&LimitInfo) -> Micros) -> Self {
        let whole = at(info);
        let differs = info.checks().iter().any(|info| at(info) != whole);
        let each = if differs { info.checks().iter().map(at).collect() } else { Vec::new() };
        Self { at: whole, each, denied: info.blocked, degraded: info.degraded }
    }

    /// The charge of an `acquire` that is given up before its turn: all that drains until then was charged before it, so
    /// that its own drains from its turn on. A millisecond sooner, because a wait is rounded up.
    pub(crate) fn of_turn(info: &LimitInfo) -> Self {
        Self::dated(info, |info| info.at.saturating_add(info.wait_ms.saturating_sub(1).saturating_mul(1000)))
    }

    /// The call that makes of this charge what was `spent` of each check, which it sets there; none of an `open`
    /// receipt's charges is left where that is false, and the call only says how things stand.
    ///
    /// The checks are those of the call that was answered, at the same costs.
    pub fn settle(&self, open: bool, checks: &mut [Check<'_>], spent: &[u64]) -> Call {
        let mut each = self.each.iter();
        for (check, spent) in checks.iter_mut().zip(spent) {
            // The two halves of one check are charged at one instant; what is not limited has an answer too.
            let answers = check.limit.rules(check.factor).map_or(1, |rules| rules.iter().count().max(1));
            check.charged_at = each.by_ref().take(answers).last().copied();
            let charged = open && (!self.denied || check.limit.counts_blocked());
            (check.cost, check.spent) = if charged { (check.cost, *spent) } else { (0, 0) };
        }
        let charged_at = self.at;
        // What this process charged alone, it gives back alone.
        if self.degraded { Call::UndoDegraded { charged_at } } else { Call::Undo { charged_at } }
    }

    /// [`settle`](Self::settle) of nothing spent.
    pub fn refund(&self, open: bool, checks: &mut [Check<'_>]) -> Call {
        let nothing = vec![0; checks.len()];
        self.settle(open, checks, &nothing)
    }
}

impl Limiter {
    /// The receipt of a call of this limiter: its checks, what was asked, and the answer.
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
    /// True until it is used, of a call that charges.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// The checks of its call, in order.
    #[must_use]
    pub fn checks(&self) -> Vec<Check<'_>> {
        self.checks.iter().map(OwnedCheck::check).collect()
    }

    /// Gives back all that the call charged, less what has drained since.
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

    /// Makes of each check's cost the one that was `spent`: gives back what was too much, less what has drained since,
    /// and charges what was too little, fit or not.
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

    /// [`settle`](Self::settle) at an instant of the caller's choosing.
    ///
    /// # Errors
    /// As [`settle`](Self::settle).
    pub async fn settle_at(&self, spent: &[u64], now: Micros) -> Result<LimitInfo, Error> {
        let (open, checks, call) = self.take(spent)?;
        self.taken(open, self.limiter.decide_at(&checks, call, now).await)
    }

    /// [`settle_sync`](Self::settle_sync) at an instant of the caller's choosing.
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

    /// What certainly did not happen may be tried again.
    fn taken(&self, open: bool, answer: Result<LimitInfo, Error>) -> Result<LimitInfo, Error> {
        if open && answer.as_ref().is_err_and(|error| !error.may_have_happened()) {
            self.open.store(true, Ordering::Relaxed);
        }
        answer
    }
}

pub(crate) const ONE_EACH: &str = "must be a list of one cost for each check where the checks cost differently";
