//! The outcome of each check of a call, for those who count them.

use crate::Error;
use crate::check::Check;
use crate::info::LimitInfo;
use crate::tally::{Fate, Tally};

/// The outcome of a check.
pub(super) struct Outcome<'a, 'b> {
    pub(super) check: &'a Check<'b>,
    pub(super) fate: Fate,
}

/// Counts a call of one limit.
#[inline]
pub(in crate::limiter) fn count(tally: &Tally, answer: Result<&LimitInfo, &Error>) {
    match answer {
        Ok(info) => tally.decided(Fate::new(info.blocked, is_near(info.remaining, info.quota))),
        Err(_) => tally.failed.add(1),
    }
}

/// It left less than a fifth of its limit, if it was admitted. Where nothing is limited, both numbers are 2^53 - 1.
#[inline]
pub(in crate::limiter) fn is_near(remaining: u64, quota: u64) -> bool {
    remaining.wrapping_mul(5) < quota
}

/// The outcome of each check of a call with this answer.
pub(super) fn of_each<'a, 'b>(
    checks: &'a [Check<'b>],
    info: &'a LimitInfo,
) -> impl Iterator<Item = Outcome<'a, 'b>> + use<'a, 'b> {
    let mut answers = info.checks().iter().peekable();
    checks.iter().enumerate().map(move |(index, check)| {
        // A limit that is translated to two has two answers; a fallback may give one for all checks.
        let (mut known, mut blocked, mut near) = (false, false, false);
        while let Some(answer) = answers.next_if(|answer| answer.check_index() == index) {
            (known, blocked) = (true, blocked | answer.blocked);
            near |= is_near(answer.remaining, answer.quota);
        }
        let is_denied = if known { blocked } else { info.blocked && !check.observed };
        Outcome { check, fate: Fate::new(is_denied, near) }
    })
}

impl Outcome<'_, '_> {
    /// The units that it got of a call that was admitted.
    pub(super) fn granted(&self, info: &LimitInfo) -> u64 {
        if self.check.at_least > 0 { info.granted } else { self.check.cost }
    }
}
