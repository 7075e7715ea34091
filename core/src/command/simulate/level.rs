//! The level of a bucket over time.

use crate::check::Check;
use crate::command::limits::Set;
use crate::command::output::Failure;
use crate::decision::Call;
use crate::info::LimitInfo;
use crate::limit::Kind;
use crate::limiter::Limiter;
use crate::time::Micros;

/// As many looks as a picture has columns.
const LOOKS: u64 = 720;

/// The units in use, seen after each call and at even instants between calls.
pub(super) struct Level<'a> {
    limiter: &'a Limiter,
    checks: &'a [Check<'a>],
    step: Micros,
    next: Micros,
    /// Each level that was seen, with the instant from which it holds.
    pub(super) seen: Vec<(Micros, u64)>,
}

impl<'a> Level<'a> {
    /// The level of limits that are one bucket; others have none.
    pub(super) fn of(set: &Set, limiter: &'a Limiter, checks: &'a [Check<'a>], length: Micros) -> Option<Self> {
        let [limit] = set.limits.as_slice() else { return None };
        let step = length.div_ceil(LOOKS).max(1);
        matches!(limit.kind(), Kind::Bucket(_) | Kind::TokenBucket(_)).then(|| Self {
            limiter,
            checks,
            step,
            next: 0,
            seen: Vec::new(),
        })
    }

    /// Looks at every even instant before this one. A look charges nothing.
    pub(super) fn look_until(&mut self, end: Micros) -> Result<(), Failure> {
        while self.next < end {
            let info = self.limiter.decide_sync_at(self.checks, Call::Peek, self.next);
            self.note(self.next, &info.map_err(|error| Failure::Told(error.to_string()))?);
            self.next += self.step;
        }
        Ok(())
    }

    pub(super) fn note(&mut self, at: Micros, info: &LimitInfo) {
        let level = info.quota.saturating_sub(info.remaining);
        if self.seen.last().map_or(0, |(_, before)| *before) != level {
            self.seen.push((at, level));
        }
    }
}
