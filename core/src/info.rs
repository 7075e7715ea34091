//! The answer to a call.

use std::mem;

use crate::time::Micros;

/// Defines [`LimitInfo`], and from its fields the list of its numbers and what the bindings are generated from.
macro_rules! answer {
    (
        $(#[$meta:meta])*
        pub struct LimitInfo {
            flags { $($(#[doc = $flag_about:literal])+ $flag:ident = $bit:literal,)+ }
            numbers { $($(#[doc = $about:literal])+ $number:ident,)+ }
            seconds { $($(#[doc = $seconds_about:literal])+ $seconds:ident = $millis:ident,)+ }
            beside { $($(#[doc = $beside_about:literal])+ $visible:vis $beside:ident: $type:ty,)+ }
        }
    ) => {
        $(#[$meta])*
        pub struct LimitInfo {
            $($(#[doc = $flag_about])+ pub $flag: bool,)+
            $($(#[doc = $about])+ pub $number: u64,)+
            $($(#[doc = $beside_about])+ $visible $beside: $type,)+
        }

        impl LimitInfo {
            /// Its public fields with their documentation, for whatever is generated from them: flags, numbers, and
            /// seconds, in this order.
            #[doc(hidden)]
            pub const FIELDS: &'static [InfoField] = &[
                $(InfoField { name: stringify!($flag), about: concat!($($flag_about),+), takes: Takes::Flag($bit) },)+
                $(InfoField { name: stringify!($number), about: concat!($($about),+), takes: Takes::Number },)+
                $(InfoField { name: stringify!($seconds), about: concat!($($seconds_about),+), takes: Takes::Seconds },)+
            ];

            /// The length of [`numbers`](Self::numbers).
            #[doc(hidden)]
            pub const NUMBERS: usize = [$(stringify!($number),)+ $(stringify!($seconds),)+].len() + 3;

            /// The numbers of this answer, in the order in which the bindings pass them: the flags as the bits of one,
            /// the numbers and seconds of [`FIELDS`](Self::FIELDS), its instant, and the index of its check.
            #[doc(hidden)]
            #[must_use]
            #[inline]
            pub const fn numbers(&self) -> [u64; Self::NUMBERS] {
                [
                    $((self.$flag as u64) * $bit)|+ | (self.observed as u64) * OBSERVED,
                    $(self.$number,)+
                    $(self.$seconds(),)+
                    self.at,
                    self.check as u64,
                ]
            }

            /// The answer of one check with these [`numbers`](Self::numbers).
            #[doc(hidden)]
            #[must_use]
            #[expect(clippy::cast_possible_truncation, reason = "a decision takes a thousand checks")]
            pub const fn from_numbers(numbers: [u64; Self::NUMBERS]) -> Self {
                let [flags, $($number,)+ $($seconds,)+ at, check] = numbers;
                $(let _ = $seconds;)+
                Self { $($flag: flags & $bit > 0,)+ $($number,)+ at, check: check as u16, observed: flags & OBSERVED > 0, counted: false, closed: false, several: None }
            }

            $(
                $(#[doc = $seconds_about])+
                #[must_use]
                pub const fn $seconds(&self) -> u64 {
                    self.$millis.div_ceil(1000)
                }
            )+
        }
    };
}

/// The bit of the first number for a check that is not enforced.
const OBSERVED: u64 = 1 << 8;

/// A public field of an answer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InfoField {
    /// Its name, in snake case.
    pub name: &'static str,
    /// Its documentation, behind a space.
    pub about: &'static str,
    /// Its kind.
    pub takes: Takes,
}

/// The kind of a field of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// True or false, as this bit of the first number.
    Flag(u64),
    /// A number of its own.
    Number,
    /// A time in seconds, computed of another field.
    Seconds,
}

answer! {
    /// The answer of a limiter: the call was admitted or denied, and what is left.
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
        flags {
            /// The call was denied.
            blocked = 1,
            /// The shared store could not decide, and the fallback policy answered.
            degraded = 2,
        }
        numbers {
            /// Whole units that would still be admitted now, after this call; 2^53 - 1 where nothing is limited.
            remaining,
            /// Denied: time until this same call would be admitted. Admitted: time until a call of cost 1 would be; 0 =
            /// at once.
            reset_ms,
            /// Time until the entry is empty again; 0 if it is.
            full_reset_ms,
            /// Time that an `acquire` waits for its turn, else 0.
            wait_ms,
            /// Time until `remaining` grows by one; 0 if it cannot grow.
            next_ms,
            /// Size of the limit that decided, scaled by the call's factor.
            quota,
            /// Time that a full entry of the limit that decided takes to drain.
            window_ms,
            /// Units that were admitted: the cost of the call, or with `at_least` as much of it as it got; 0 if denied.
            granted,
        }
        seconds {
            /// `reset_ms` in whole seconds, rounded up.
            reset_sec = reset_ms,
            /// `full_reset_ms` in whole seconds, rounded up.
            full_reset_sec = full_reset_ms,
        }
        beside {
            /// The instant of the decision, or the later one that its charge counts as; names the charge in a
            /// [`Receipt`](crate::Receipt). 0 = no limit.
            pub at: Micros,
            /// The index of the check that this answer belongs to: with the flags, it fits into eight bytes.
            pub(crate) check: u16,
            /// Of a check that is not enforced.
            pub(crate) observed: bool,
            /// Charged although its call was denied; for merging, after which no binding needs it.
            pub(crate) counted: bool,
            /// A block beside the limit's entry is closed; for explanations, after which no binding needs it.
            pub(crate) closed: bool,
            /// Present only when there was more than one answer, so that a single one allocates nothing.
            pub(crate) several: Option<Several>,
        }
    }
}

/// The answers of a call of several.
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
    /// True unless this is the answer where there is no limit.
    pub(crate) const fn is_limited(&self) -> bool {
        self.quota < UNLIMITED || self.blocked
    }

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
            granted: 0,
            at: 0,
            check: 0,
            observed: false,
            counted: false,
            closed: false,
            degraded: false,
            several: None,
        }
    }

    /// The same answer to a call of this cost, if it is admitted.
    pub(crate) fn granting(self, cost: u64) -> Self {
        Self { granted: if self.blocked { 0 } else { cost }, ..self }
    }

    /// Grants nothing to the checks of a decision that is denied; and where each gets the same units, as many as all of
    /// them have room for. Neither is known where a check is decided by itself, or limited by nothing.
    pub(crate) fn grant_together(answers: &mut [Self], alike: bool) {
        let enforced = || answers.iter().filter(|info| !info.observed);
        let denied = enforced().any(|info| info.blocked);
        let least = enforced().map(|info| info.granted).min().unwrap_or(0);
        for info in answers.iter_mut().filter(|info| (denied || alike) && !info.observed) {
            info.granted = if denied { 0 } else { least };
        }
    }

    /// Makes this the answer of the check at this index, which may be one that is not enforced.
    #[inline]
    pub(crate) fn belongs_to(&mut self, check: usize, observed: bool) {
        // A decision takes far fewer checks.
        self.check = u16::try_from(check).unwrap_or(u16::MAX);
        self.observed = observed;
    }

    /// The same answer, which [belongs to](Self::belongs_to) this check.
    #[inline]
    pub(crate) fn of_check(mut self, check: usize, observed: bool) -> Self {
        self.belongs_to(check, observed);
        self
    }

    /// One answer for several: blocked if any is, with the least remaining and the longest times. Each has the index of
    /// its check. Those of [observed](Self::is_observed) checks have no part in it.
    ///
    /// A decision without checks limits nothing.
    pub(crate) fn merged(mut answers: Vec<Self>) -> Self {
        if answers.len() <= 1 && !answers.iter().any(|info| info.observed) {
            return answers.pop().unwrap_or_else(Self::unlimited);
        }
        Self::merged_from(answers.into())
    }

    /// [`merged`](Self::merged) from more than one.
    pub(crate) fn merged_from(checks: Box<[Self]>) -> Self {
        if checks.iter().any(|info| info.observed) { Self::merged_beside(checks) } else { Self::merged_of(checks) }
    }

    /// [`merged`](Self::merged) of those that are enforced, with the answers of all.
    #[cold]
    fn merged_beside(checks: Box<[Self]>) -> Self {
        let enforced: Vec<Self> = checks.iter().filter(|info| !info.observed).cloned().collect();
        let merged = Self::merged(enforced);
        let degraded = checks.iter().any(|info| info.degraded);
        Self { degraded, several: Some(Several(checks)), ..merged }
    }

    /// [`merged_from`](Self::merged_from) those that are enforced.
    pub(crate) fn merged_of(checks: Box<[Self]>) -> Self {
        Self::summary_with(checks, |checks| Some(Several(checks)))
    }

    /// [`merged_of`](Self::merged_of), without them.
    #[inline]
    pub(crate) fn summary(checks: &[Self]) -> Self {
        Self::summary_with(checks, |_| None)
    }

    /// The summary of answers with what becomes of them, so that it is written once: to move one can be felt.
    #[inline]
    fn summary_with<C: AsRef<[Self]>>(answers: C, several: impl FnOnce(C) -> Option<Several>) -> Self {
        let checks = answers.as_ref();
        let deciding = &checks[Self::binding_among(checks)];
        let Self { blocked, quota, next_ms, window_ms, check, .. } = *deciding;
        let (mut remaining, mut reset_ms, mut full_reset_ms) = (u64::MAX, deciding.reset_ms, 0);
        let (mut wait_ms, mut at, mut degraded) = (0, 0, false);
        let granted = if blocked { 0 } else { checks.first().map_or(0, |first| first.granted) };
        for info in checks {
            remaining = remaining.min(info.remaining);
            full_reset_ms = full_reset_ms.max(info.full_reset_ms);
            wait_ms = wait_ms.max(info.wait_ms);
            at = at.max(info.at);
            degraded |= info.degraded;
            if !blocked || info.counted {
                // Among those that are blocked, the one that decides has the largest.
                reset_ms = reset_ms.max(info.reset_ms);
            }
        }
        Self {
            blocked,
            degraded,
            remaining,
            reset_ms,
            full_reset_ms,
            wait_ms,
            next_ms,
            quota,
            window_ms,
            granted,
            at,
            check,
            observed: false,
            counted: false,
            closed: false,
            several: several(answers),
        }
    }

    /// [`binding`](Self::binding) of these answers, at least one: the first of equals, which `max_by` would not give.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn binding_among(checks: &[Self]) -> usize {
        (1..checks.len()).fold(0, |best, index| if checks[index].outdoes(&checks[best]) { index } else { best })
    }

    /// Decides instead of another one before it: of equals the first one does.
    #[inline]
    pub(crate) fn outdoes(&self, other: &Self) -> bool {
        match (self.blocked, other.blocked) {
            (true, true) => self.reset_ms > other.reset_ms,
            (false, false) => self.remaining < other.remaining,
            (blocked, _) => blocked,
        }
    }

    /// The same answer, given without the store; of what is not limited the store has nothing to say anyway.
    #[cfg(feature = "remote")]
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

    /// The answer of each check, in order; of a single check, this answer itself. A legacy limit that is translated
    /// exactly can have two.
    #[must_use]
    pub fn checks(&self) -> &[LimitInfo] {
        self.several.as_ref().map_or(std::slice::from_ref(self), |several| &several.0)
    }

    /// True if this is the answer of a check that is not enforced, but [observed](crate::Check::observed).
    #[must_use]
    pub const fn is_observed(&self) -> bool {
        self.observed
    }

    /// The index in [`checks`](Self::checks) of the one that decided: the blocked one with the largest reset, else the
    /// one with the least remaining; the first of equals.
    #[must_use]
    pub fn binding(&self) -> usize {
        let checks = self.checks();
        let best = Self::binding_among(checks);
        if !checks.iter().any(|info| info.observed) {
            return best;
        }
        let enforced = (0..checks.len()).filter(|index| !checks[*index].observed);
        enforced.reduce(|best, index| if checks[index].outdoes(&checks[best]) { index } else { best }).unwrap_or(best)
    }

    /// The index of this answer's check among those of its call; of an answer to several, that of the one that decided.
    #[must_use]
    pub const fn check_index(&self) -> usize {
        self.check as usize
    }
}
