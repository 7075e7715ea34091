//! Calls that are answered at once, for hosts that count them or read their answers in place.

use crate::Error;
use crate::check::Check;
#[cfg(feature = "remote")]
use crate::decision::Call;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::limiter::Limiter;

/// A limiter of whose calls no two threads make any at the same time, nor of its clones: as under a global lock, or on an
/// event loop. They are then counted without a look at which thread makes them; where that is not so, counts are lost.
#[must_use]
pub fn in_turn(limiter: Limiter) -> Limiter {
    limiter.in_turn()
}

/// [`Limiter::decide_sync`] of [`Call::Limit`], which is not counted: where calls [are](is_counted), the host counts it,
/// with [`count_one`] or else with [`count_answer`].
///
/// # Errors
/// As [`Limiter::decide_sync`].
#[expect(clippy::inline_always, reason = "as Limiter::decide_sync")]
#[inline(always)]
pub fn decide_uncounted(limiter: &Limiter, checks: &[Check<'_>]) -> Result<LimitInfo, Error> {
    limiter.decide_one_uncounted(checks)
}

/// True if calls of this limiter are counted.
#[cfg(feature = "remote")]
#[must_use]
#[inline]
pub fn is_counted(limiter: &Limiter) -> bool {
    limiter.is_metered()
}

/// Counts the answer to [`decide_uncounted`].
#[cfg(feature = "remote")]
pub fn count_answer(limiter: &Limiter, checks: &[Check<'_>], answer: Result<&LimitInfo, &Error>) {
    limiter.count(checks, Call::Limit, answer);
}

/// [`count_answer`] of one enforced check, by the numbers of its answer; false where more of it is counted than those tell.
#[cfg(feature = "remote")]
#[expect(clippy::inline_always, reason = "across a call the answer would be moved, for 4 to 8 ns")]
#[must_use]
#[inline(always)]
pub fn count_one(limiter: &Limiter, limit: &Limit, blocked: bool, remaining: u64, quota: u64) -> bool {
    limiter.count_limit(limit, blocked, remaining, quota)
}

/// [`Limiter::limit_sync`] for a caller that reads the answer once: `answered` is called with it.
///
/// # Errors
/// As [`Limiter::limit_sync`].
#[inline]
pub fn limit_one_sync<T>(
    limiter: &Limiter,
    limit: &Limit,
    actor: &str,
    answered: impl FnOnce(&LimitInfo) -> T,
) -> Result<T, Error> {
    limiter.limit_one_sync(limit, actor, answered)
}

/// [`Limiter::decide_sync`] of [`Call::Limit`] and two checks, for a caller that reads the answers once: `answered` is
/// called with the merged answer, which does not carry those of the checks, and with these.
///
/// # Errors
/// As [`Limiter::decide_sync`].
#[inline]
pub fn limit_two_sync<T>(
    limiter: &Limiter,
    checks: &[Check<'_>; 2],
    answered: impl FnOnce(&LimitInfo, &[LimitInfo]) -> T,
) -> Result<T, Error> {
    limiter.limit_two_sync(checks, answered)
}
