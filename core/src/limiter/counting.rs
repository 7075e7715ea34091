//! Calls of a limiter, counted where its metrics or top actors are read, and those whose answers are read in place.

#[cfg(feature = "remote")]
use super::meter::{count, is_near};
#[cfg(feature = "remote")]
use super::metering::Underway;
use super::{Limiter, Store, check_now};
use crate::Error;
use crate::check::Check;
use crate::decision::Call;
use crate::info::LimitInfo;
use crate::limit::Limit;
#[cfg(feature = "remote")]
use crate::tally::Fate;
use crate::time::Micros;

impl Limiter {
    /// [`decide_sync_at`](Self::decide_sync_at) without a check of the instant.
    #[expect(clippy::inline_always, reason = "a call that is known where it is compiled gets a path of its own")]
    #[inline(always)]
    pub(super) fn decide_on(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        match checks {
            [check] if call == Call::Limit && check.is_plain() => {
                self.limit_on(check.limit, check.actor, check.cost, check.factor, now)
            }
            _ if self.is_metered() => self.decide_metered(checks, call, now),
            _ => self.decide_uncounted(checks, call, now),
        }
    }

    /// One plain check.
    #[expect(clippy::inline_always, reason = "so is what it calls, and numbers that are known stay known")]
    #[inline(always)]
    pub(super) fn limit_on(
        &self,
        limit: &Limit,
        actor: &str,
        cost: u64,
        factor: f64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        if self.is_metered() {
            return self.limit_metered(limit, actor, cost, factor, now);
        }
        self.limit_uncounted(limit, actor, cost, factor, now)
    }

    /// One plain check where calls are counted. Apart from the way without counts: where something may look at the answer,
    /// the compiler moves it, which takes a tenth of the call.
    #[cold]
    #[inline(never)]
    fn limit_metered(
        &self,
        limit: &Limit,
        actor: &str,
        cost: u64,
        factor: f64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        #[cfg(feature = "remote")]
        if let Some(tally) = self.meter.get().and_then(|meter| meter.of_limit(limit)) {
            let answer = self.limit_uncounted(limit, actor, cost, factor, now);
            count(tally, answer.as_ref());
            return answer;
        }
        self.decide_metered(&[Check::new(limit, actor).cost(cost).factor(factor)], Call::Limit, now)
    }

    /// See `ffi::limit_one_sync`. The answer is read where it was made: to move it takes 4 ns.
    #[expect(clippy::inline_always, reason = "as limit_on")]
    #[inline(always)]
    pub(crate) fn limit_one_sync<T>(
        &self,
        limit: &Limit,
        actor: &str,
        answered: impl FnOnce(&LimitInfo) -> T,
    ) -> Result<T, Error> {
        if self.is_metered() {
            return self.limit_one_metered(limit, actor, answered);
        }
        self.limit_uncounted(limit, actor, 1, 1.0, None).as_ref().map(answered).map_err(Clone::clone)
    }

    /// One plain check where calls are counted, whose answer is counted and read where it is.
    #[cold]
    #[inline(never)]
    fn limit_one_metered<T>(
        &self,
        limit: &Limit,
        actor: &str,
        answered: impl FnOnce(&LimitInfo) -> T,
    ) -> Result<T, Error> {
        #[cfg(feature = "remote")]
        if let Some(tally) = self.meter.get().and_then(|meter| meter.of_limit(limit)) {
            let answer = self.limit_uncounted(limit, actor, 1, 1.0, None);
            count(tally, answer.as_ref());
            return answer.as_ref().map(answered).map_err(Clone::clone);
        }
        self.decide_metered(&[Check::new(limit, actor)], Call::Limit, None).as_ref().map(answered).map_err(Clone::clone)
    }

    /// See `ffi::limit_two_sync`.
    #[inline]
    pub(crate) fn limit_two_sync<T>(
        &self,
        checks: &[Check<'_>; 2],
        answered: impl FnOnce(&LimitInfo, &[LimitInfo]) -> T,
    ) -> Result<T, Error> {
        if self.is_metered() {
            let info = self.decide_metered(checks, Call::Limit, None)?;
            return Ok(answered(&info, info.checks()));
        }
        match &self.store {
            Store::Local(local) => local.limit_two(checks, answered),
            #[cfg(feature = "remote")]
            Store::Remote(remote) => {
                let info = remote.decide_sync(checks, Call::Limit, None)?;
                Ok(answered(&info, info.checks()))
            }
            #[cfg(all(feature = "shm", target_os = "linux"))]
            Store::Shared(shared) => {
                let info = shared.decide_on(checks, Call::Limit, None)?;
                Ok(answered(&info, info.checks()))
            }
        }
    }

    /// See `ffi::decide_uncounted`.
    #[expect(clippy::inline_always, reason = "as decide_on")]
    #[inline(always)]
    pub(crate) fn decide_one_uncounted(&self, checks: &[Check<'_>]) -> Result<LimitInfo, Error> {
        match checks {
            [check] if check.is_plain() => {
                self.limit_uncounted(check.limit, check.actor, check.cost, check.factor, None)
            }
            _ => self.decide_uncounted(checks, Call::Limit, None),
        }
    }

    /// See `ffi::count_one`.
    #[expect(clippy::inline_always, reason = "see there")]
    #[inline(always)]
    #[cfg(feature = "remote")]
    pub(crate) fn count_limit(&self, limit: &Limit, blocked: bool, remaining: u64, quota: u64) -> bool {
        let tally = self.meter.get().and_then(|meter| meter.of_limit(limit));
        if let Some(tally) = tally {
            tally.decided(Fate::new(blocked, is_near(remaining, quota)));
        }
        tally.is_some()
    }

    /// A call where calls are counted.
    #[cold]
    #[inline(never)]
    pub(super) fn decide_metered(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        let answer = self.decide_uncounted(checks, call, now);
        self.count(checks, call, answer.as_ref());
        answer
    }

    /// A try of an `acquire`, which is counted as a whole.
    pub(super) fn try_here(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        now.map_or(Ok(()), |now| check_now(checks, now))?;
        self.decide_uncounted(checks, call, now)
    }

    /// The same as a future.
    #[cfg(feature = "tokio")]
    pub(super) async fn try_later(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        now.map_or(Ok(()), |now| check_now(checks, now))?;
        self.decide_later_uncounted(checks, call, now).await
    }

    /// See `ffi::in_turn`.
    pub(crate) fn in_turn(self) -> Self {
        Self { meter: self.meter.in_turn(), ..self }
    }

    /// True if calls are counted by limit or by actor.
    #[inline]
    #[cfg(feature = "remote")]
    pub(crate) fn is_metered(&self) -> bool {
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
    pub(crate) fn count(&self, checks: &[Check<'_>], call: Call, answer: Result<&LimitInfo, &Error>) {
        if let Some(meter) = self.meter.get() {
            meter.count(checks, call, answer);
        }
    }

    #[cfg(not(feature = "remote"))]
    #[expect(clippy::unused_self, reason = "as where there are metrics to read")]
    pub(crate) const fn count(&self, _: &[Check<'_>], _: Call, _: Result<&LimitInfo, &Error>) {}

    /// A call under way, where it is to be counted.
    #[cfg(feature = "remote")]
    pub(super) fn underway(&self, checks: &[Check<'_>], call: Call) -> Option<Underway> {
        self.is_metered().then(|| Underway::new(self.meter.clone(), checks, call))
    }
}
