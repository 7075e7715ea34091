//! Calls of a limiter whose metrics or top actors are read.

use super::Limiter;
#[cfg(feature = "remote")]
use super::meter::Underway;
use crate::Error;
use crate::check::Check;
use crate::decision::Call;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::time::Micros;

impl Limiter {
    /// [`decide_sync_at`](Self::decide_sync_at) without a check of the instant. A plain check is told from others here, not
    /// behind a call of its own: that costs 11 to 16 ns where limits are counted.
    #[expect(clippy::inline_always, reason = "a call that is known where it is compiled gets a path of its own")]
    #[inline(always)]
    pub(super) fn decide_on(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        match checks {
            _ if !self.is_metered() => self.decide_uncounted(checks, call, now),
            [check] if call == Call::Limit && check.is_plain() => {
                self.limit_metered(check.limit, check.actor, check.cost, check.factor, now)
            }
            _ => self.decide_metered(checks, call, now),
        }
    }

    /// One plain check. Apart from the way without counts, in which nothing may look at the answer: to move one can be
    /// felt.
    #[inline(never)]
    pub(super) fn limit_metered(
        &self,
        limit: &Limit,
        actor: &str,
        cost: u64,
        factor: f64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        let answer = self.limit_uncounted(limit, actor, cost, factor, now);
        self.count(&[Check::new(limit, actor).cost(cost).factor(factor)], Call::Limit, &answer);
        answer
    }

    /// The same of any call.
    #[inline(never)]
    pub(super) fn decide_metered(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        let answer = self.decide_uncounted(checks, call, now);
        self.count(checks, call, &answer);
        answer
    }

    /// True if calls are counted by limit or by actor.
    #[inline]
    #[cfg(feature = "remote")]
    pub(super) fn is_metered(&self) -> bool {
        self.meter.get().is_some()
    }

    #[inline]
    #[cfg(not(feature = "remote"))]
    #[expect(clippy::unused_self, reason = "as where there are metrics to read")]
    pub(super) const fn is_metered(&self) -> bool {
        false
    }

    /// Counts a call that was answered.
    #[inline]
    #[cfg(feature = "remote")]
    pub(super) fn count(&self, checks: &[Check<'_>], call: Call, answer: &Result<LimitInfo, Error>) {
        if let Some(meter) = self.meter.get() {
            meter.count(checks, call, answer);
        }
    }

    #[cfg(not(feature = "remote"))]
    #[expect(clippy::unused_self, reason = "as where there are metrics to read")]
    pub(super) const fn count(&self, _: &[Check<'_>], _: Call, _: &Result<LimitInfo, Error>) {}

    /// A call under way, where it is to be counted.
    #[cfg(feature = "remote")]
    pub(super) fn underway(&self, checks: &[Check<'_>], call: Call) -> Option<Underway> {
        self.is_metered().then(|| Underway::new(self.meter.clone(), checks, call))
    }
}
