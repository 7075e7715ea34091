//! The calls of a rule, by its algorithm.

use super::{Change, Impossible, Resolved, Verb, Verdict, answer, commit, examine};
use crate::algorithm::{Algorithm as _, Entry, Rule, states, with_algorithm};
use crate::info::LimitInfo;
use crate::time::{Micros, millis_up};

impl Rule {
    /// [`examine`] by this rule's algorithm.
    #[inline]
    pub(crate) fn examine(
        &self,
        entry: &mut Entry,
        now: Micros,
        verb: Verb,
        cost: u64,
        prior: u64,
    ) -> Result<Verdict, Impossible> {
        with_algorithm!(self, entry, now, |algorithm, state| examine(algorithm, state, now, verb, cost, prior))
    }

    /// [`commit`] by this rule's algorithm.
    #[inline]
    pub(crate) fn commit(&self, entry: &mut Entry, now: Micros, verb: Verb, check: Resolved, spent: u64) -> Change {
        with_algorithm!(self, entry, now, |algorithm, state| commit(algorithm, state, now, verb, check, spent))
    }

    /// [`answer`] by this rule's algorithm.
    #[inline]
    pub(crate) fn answer(&self, entry: &mut Entry, now: Micros, verb: Verb, check: Resolved) -> LimitInfo {
        with_algorithm!(self, entry, now, |algorithm, state| answer(algorithm, state, now, verb, check))
    }

    /// The answer of an entry that a reset has just removed.
    pub(crate) fn emptied(&self, now: Micros) -> LimitInfo {
        let check = Resolved::alone(Verdict { fits: true, ..Verdict::default() }, 0);
        self.answer(&mut Entry::Absent, now, Verb::Reset, check)
    }

    /// The answer of an observed check that cannot be decided.
    pub(crate) fn undecided(&self, now: Micros) -> LimitInfo {
        let (quota, window_ms) = (self.quota(), millis_up(self.window()));
        LimitInfo { blocked: true, remaining: 0, quota, window_ms, at: now, ..LimitInfo::unlimited() }
    }
}
