//! Dispatch of a rule to its algorithm.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::numbers::Twin;
#[cfg(feature = "remote")]
use super::numbers::{Numbers, Stored};
use super::shapes::shapes;
use super::{Algorithm, Drains, Entry, Impossible, Resolved, Verb, Verdict, answer, commit, examine};
use crate::info::LimitInfo;
use crate::limit::Rule;
use crate::time::{Micros, millis_up};

/// Calls the algorithm of a rule with the state that the entry holds for it.
macro_rules! with_algorithm {
    ($rule:expr, $entry:expr, $now:expr, |$algorithm:ident, $state:ident| $question:expr) => {
        shapes!(with_algorithm!($rule, $entry, $now, $algorithm, $state, $question))
    };
    ($rule:expr, $entry:expr, $now:expr, $algorithm:ident, $state:ident, $question:expr;
        small: $($small:ident $small_of:ident $copied:ty),*; long: $($long:ident $long_of:ident $lent:ty),*) => {
        match $rule {
            $(Rule::$small($algorithm) => {
                let $state = $entry.$small_of(|| $algorithm.fresh($now));
                $question
            })*
            $(Rule::$long($algorithm) => {
                let $state = $entry.$long_of(|| $algorithm.fresh($now));
                $question
            })*
        }
    };
}

/// Calls the algorithm of a rule.
macro_rules! with_rule {
    ($rule:expr, |$algorithm:ident| $question:expr) => { shapes!(with_rule!($rule, $algorithm, $question)) };
    ($rule:expr, $algorithm:ident, $question:expr; small: $($small:ident $small_of:ident $copied:ty),*;
        long: $($long:ident $long_of:ident $lent:ty),*) => {
        match $rule {
            $(Rule::$small($algorithm) => $question,)*
            $(Rule::$long($algorithm) => $question,)*
        }
    };
}

/// Calls the algorithm of a rule whose state is copied, or does something else.
macro_rules! with_small {
    ($rule:expr, |$algorithm:ident| $question:expr, else $other:expr) => {
        $crate::decision::shapes!(with_small!($rule, $algorithm, $question, $other))
    };
    ($rule:expr, $algorithm:ident, $question:expr, $other:expr; small: $($small:ident $small_of:ident $copied:ty),*;
        long: $($long:ident $long_of:ident $lent:ty),*) => {
        match $rule {
            $(Rule::$small($algorithm) => $question,)*
            $(Rule::$long(_) => $other,)*
        }
    };
}
pub(crate) use with_small;

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
    pub(crate) fn commit(&self, entry: &mut Entry, now: Micros, verb: Verb, check: Resolved, spent: u64) -> bool {
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

    /// Until this cost fits, to the microsecond that an answer rounds up.
    #[cfg(feature = "remote")]
    pub(crate) fn until(&self, entry: &mut Entry, now: Micros, cost: u64) -> Micros {
        with_algorithm!(self, entry, now, |algorithm, state| algorithm.until(state, now, cost))
    }

    /// True if a call that writes nothing gives this entry back as it was, so that a large one need not be copied
    /// first: it is this rule's own, and not from a future that cannot be.
    pub(crate) fn may_borrow(&self, entry: &Entry, now: Micros) -> bool {
        match (self, entry) {
            (Self::Slots(algorithm), Entry::Slots(state)) => !algorithm.is_impossible(state, now),
            (Self::Log(algorithm), Entry::Log(state)) => !algorithm.is_impossible(state, now),
            _ => false,
        }
    }

    /// An entry that is empty need not be kept: absent, it answers the same.
    #[inline]
    pub(crate) fn is_empty(&self, entry: &mut Entry, now: Micros) -> bool {
        *entry == Entry::Absent || with_algorithm!(self, entry, now, |algorithm, state| algorithm.is_empty(state, now))
    }

    /// [`Algorithm::drains`] by this rule's algorithm.
    #[inline]
    pub(crate) fn drains(&self, entry: &mut Entry, now: Micros) -> Drains {
        with_algorithm!(self, entry, now, |algorithm, state| algorithm.drains(state, now))
    }

    /// The units that an empty entry admits.
    pub(crate) fn quota(&self) -> u64 {
        with_rule!(self, |algorithm| algorithm.quota())
    }

    /// The largest cost that ever fits.
    pub(crate) fn largest_cost(&self) -> u64 {
        with_rule!(self, |algorithm| algorithm.largest_cost())
    }

    /// True if a denied attempt is charged as well.
    #[cfg(feature = "redis")]
    pub(crate) fn counts_blocked(&self) -> bool {
        with_rule!(self, |algorithm| algorithm.counts_blocked())
    }

    /// A call that does not fit yet may reserve its place.
    pub(crate) fn reserves(&self) -> bool {
        fn of<R: Algorithm>(_: &R) -> bool {
            R::RESERVES
        }
        with_rule!(self, |algorithm| of(algorithm))
    }

    /// The time that a full entry takes to drain.
    #[inline]
    pub(crate) fn window(&self) -> Micros {
        with_rule!(self, |algorithm| algorithm.window())
    }

    /// The number of its algorithm in Lua, and [all](Twin::numbers) that decides.
    pub(crate) fn twin(&self) -> (u8, [f64; 6]) {
        fn of<R: Twin>(rule: &R) -> (u8, [f64; 6]) {
            (R::KIND, rule.numbers())
        }
        with_rule!(self, |rule| of(rule))
    }

    /// Half a fingerprint: equal for equal rules, and different for others. Rules are made by the program, not by its
    /// clients, so it needs no secret.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let (kind, numbers) = self.twin();
        (kind, numbers.map(f64::to_bits)).hash(&mut hasher);
        hasher.finish()
    }

    /// The entry that this rule has left as these numbers.
    #[cfg(feature = "remote")]
    pub(crate) fn entry_of(&self, numbers: &mut impl Numbers) -> Option<Entry> {
        shapes!(entry_of!(self, numbers))
    }
}

#[cfg(feature = "remote")]
macro_rules! entry_of {
    ($rule:expr, $numbers:expr; small: $($small:ident $small_of:ident $copied:ty),*;
        long: $($long:ident $long_of:ident $lent:ty),*) => {
        Some(match $rule {
            $(Rule::$small(_) => Entry::$small(Stored::read($numbers)?),)*
            $(Rule::$long(_) => Entry::$long(Box::new(Stored::read($numbers)?)),)*
        })
    };
}
#[cfg(feature = "remote")]
use entry_of;
