//! The answer to a call.

use std::mem;

use crate::time::Micros;

/// The answer of a limiter: whether the call may pass, and what is left.
///
/// Durations are whole milliseconds, rounded up from the engine's microseconds.
///
/// ```
/// use tidegate::{Limit, Limiter, Memory};
///
/// let login = Limit::bucket("login", 2).build()?;
/// let info = Limiter::new(Memory::new()).limit_sync(&login, "203.0.113.9")?;
/// assert!(info.allowed() && !info.blocked);
/// assert_eq!(info.remaining, 1);
/// assert_eq!((info.full_reset_ms, info.full_reset_sec()), (1000, 1));
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitInfo {
    /// The call was denied.
    pub blocked: bool,
    /// Whole units that would still be admitted now, after this call.
    pub remaining: u64,
    /// Denied: until this same call would be admitted. Admitted: until the next call of cost 1 would be; 0 = at once.
    pub reset_ms: u64,
    /// Until the entry is empty again; 0 = it is.
    pub full_reset_ms: u64,
    /// The time that an `acquire` has to wait for its turn, else 0.
    pub wait_ms: u64,
    /// Until `remaining` grows by one; 0 = it cannot grow.
    pub next_ms: u64,
    /// The size of the deciding limit, scaled by the call's factor.
    pub quota: u64,
    /// The time that a full entry of the deciding limit takes to drain.
    pub window_ms: u64,
    /// The instant of the decision, or the later one that its charge counts as; names the charge in a
    /// [`Receipt`](crate::Receipt). 0 = no limit.
    pub at: Micros,
    /// The store could not decide, and this is what was answered without it; see [`OnError`](crate::OnError).
    pub degraded: bool,
    /// Present only when there was more than one check, so that a single one allocates nothing.
    pub(crate) several: Option<Several>,
}

/// The answers of several checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Several(Box<[LimitInfo]>);

/// Out of the way of the answers without them, which nearly all are.
impl Drop for Several {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        drop(mem::take(&mut self.0));
    }
}

/// `remaining` and `quota` where nothing is limited: the largest integer that every language holds exactly.
pub(crate) const UNLIMITED: u64 = (1 << 53) - 1;

/// The answer where there is no limit.
impl Default for LimitInfo {
    fn default() -> Self {
        Self::unlimited()
    }
}

impl LimitInfo {
    /// The answer where there is no limit: `remaining` and `quota` are 2^53 - 1, all times 0.
    #[must_use]
    pub const fn unlimited() -> Self {
        Self {
            blocked: false,
            remaining: UNLIMITED,
            reset_ms: 0,
            full_reset_ms: 0,
            wait_ms: 0,
            next_ms: 0,
            quota: UNLIMITED,
            window_ms: 0,
            at: 0,
            degraded: false,
            several: None,
        }
    }

    /// One answer for several: blocked if any is, with the least remaining and the longest times.
    ///
    /// A decision without checks limits nothing.
    pub(crate) fn merged(mut checks: Vec<Self>) -> Self {
        if checks.len() <= 1 {
            return checks.pop().unwrap_or_else(Self::unlimited);
        }
        Self::merged_from(checks.into())
    }

    /// [`merged`](Self::merged) from more than one.
    pub(crate) fn merged_from(checks: Box<[Self]>) -> Self {
        let deciding = &checks[Self::binding_among(&checks)];
        let (blocked, quota, next_ms, window_ms) =
            (deciding.blocked, deciding.quota, deciding.next_ms, deciding.window_ms);
        let (mut remaining, mut reset_ms, mut full_reset_ms) = (u64::MAX, deciding.reset_ms, 0);
        let (mut wait_ms, mut at, mut degraded) = (0, 0, false);
        for info in &checks {
            remaining = remaining.min(info.remaining);
            full_reset_ms = full_reset_ms.max(info.full_reset_ms);
            wait_ms = wait_ms.max(info.wait_ms);
            at = at.max(info.at);
            degraded |= info.degraded;
            if !blocked {
                // Among those that are blocked, the one that decides has the largest.
                reset_ms = reset_ms.max(info.reset_ms);
            }
        }
        let several = Some(Several(checks));
        Self { blocked, remaining, reset_ms, full_reset_ms, wait_ms, next_ms, quota, window_ms, at, degraded, several }
    }

    /// The first of equals, which `max_by` would not give.
    #[inline]
    fn binding_among(checks: &[Self]) -> usize {
        (1..checks.len()).fold(0, |best, index| if checks[index].outdoes(&checks[best]) { index } else { best })
    }

    /// Decides instead of another one before it: of equals the first one does.
    #[inline]
    fn outdoes(&self, other: &Self) -> bool {
        match (self.blocked, other.blocked) {
            (true, true) => self.reset_ms > other.reset_ms,
            (false, false) => self.remaining < other.remaining,
            (blocked, _) => blocked,
        }
    }

    /// The same answer, given without the store; of what is not limited the store has nothing to say anyway.
    #[cfg(feature = "redis")]
    pub(crate) fn into_degraded(mut self) -> Self {
        let is_limited = |info: &Self| info.quota != UNLIMITED;
        if let Some(several) = self.several.as_mut() {
            for info in &mut several.0 {
                info.degraded = is_limited(info);
            }
        }
        self.degraded = self.checks().iter().any(is_limited);
        self
    }

    /// The call may pass: the opposite of [`blocked`](Self::blocked).
    #[must_use]
    pub const fn allowed(&self) -> bool {
        !self.blocked
    }

    /// [`reset_ms`](Self::reset_ms) in whole seconds, rounded up.
    #[must_use]
    pub const fn reset_sec(&self) -> u64 {
        self.reset_ms.div_ceil(1000)
    }

    /// [`full_reset_ms`](Self::full_reset_ms) in whole seconds, rounded up.
    #[must_use]
    pub const fn full_reset_sec(&self) -> u64 {
        self.full_reset_ms.div_ceil(1000)
    }

    /// The answer of each check, in order; of a single check, this answer itself.
    #[must_use]
    pub fn checks(&self) -> &[LimitInfo] {
        self.several.as_ref().map_or(std::slice::from_ref(self), |several| &several.0)
    }

    /// The index in [`checks`](Self::checks) of the one that decided: the blocked one with the largest reset, else the
    /// one with the least remaining; the first of equals.
    #[must_use]
    pub fn binding(&self) -> usize {
        Self::binding_among(self.checks())
    }
}
