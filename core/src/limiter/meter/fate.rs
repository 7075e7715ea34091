//! The outcome of each check of a call, for those who count them.

use crate::check::Check;
use crate::info::LimitInfo;

/// The outcome of a check.
pub(super) struct Fate<'a, 'b> {
    pub(super) check: &'a Check<'b>,
    pub(super) is_denied: bool,
    /// It was admitted, and left less than a fifth of its limit.
    pub(super) is_near: bool,
}

/// The call left less than a fifth of its limit, if it was admitted.
#[inline]
pub(super) fn is_near(answer: &LimitInfo) -> bool {
    answer.is_limited() && answer.remaining.saturating_mul(5) < answer.quota
}

impl<'a, 'b> Fate<'a, 'b> {
    /// The outcome of each check of a call with this answer.
    pub(super) fn of_each(checks: &'a [Check<'b>], info: &'a LimitInfo) -> impl Iterator<Item = Self> {
        let mut answers = info.checks().iter().peekable();
        checks.iter().enumerate().map(move |(index, check)| {
            // A limit that is translated to two has two answers; a fallback may give one for all checks.
            let (mut known, mut blocked, mut near) = (false, false, false);
            while let Some(answer) = answers.next_if(|answer| answer.check_index() == index) {
                (known, blocked) = (true, blocked | answer.blocked);
                near |= is_near(answer);
            }
            let is_denied = if known { blocked } else { info.blocked && !check.observed };
            Self { check, is_denied, is_near: near && !is_denied }
        })
    }

    /// The units that it got of a call that was admitted.
    pub(super) fn granted(&self, info: &LimitInfo) -> u64 {
        if self.check.at_least > 0 { info.granted } else { self.check.cost }
    }
}
