//! Dispatch of a rule to its algorithm.

use super::{Algorithm, Drains, Entry, Impossible, Resolved, Verb, Verdict, answer, commit, examine};
use crate::info::LimitInfo;
use crate::limit::Rule;
use crate::time::{Micros, millis_up};

/// Calls the algorithm of a rule with the state that the entry holds for it.
macro_rules! with_algorithm {
    ($rule:expr, $entry:expr, $now:expr, |$algorithm:ident, $state:ident| $question:expr) => {
        with_algorithm!($rule, $entry, $now, $algorithm, $state, $question,
            Level level, Slots slots, Counter counter, Log log, Decay decay, Smooth smooth)
    };
    ($rule:expr, $entry:expr, $now:expr, $algorithm:ident, $state:ident, $question:expr, $($kind:ident $of:ident),*) => {
        match $rule {
            $(Rule::$kind($algorithm) => {
                let $state = $entry.$of(|| $algorithm.fresh($now));
                $question
            })*
        }
    };
}

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
        match self {
            Self::Level(algorithm) => algorithm.quota(),
            Self::Slots(algorithm) => algorithm.quota(),
            Self::Counter(algorithm) => algorithm.quota(),
            Self::Log(algorithm) => algorithm.quota(),
            Self::Decay(algorithm) => algorithm.quota(),
            Self::Smooth(algorithm) => algorithm.quota(),
        }
    }

    /// The largest cost that ever fits.
    pub(crate) fn largest_cost(&self) -> u64 {
        match self {
            // Any cost is admitted at once there, and the next call pays for it.
            Self::Smooth(algorithm) => algorithm.largest_cost(),
            _ => self.quota(),
        }
    }

    /// True if a denied attempt is charged as well.
    #[cfg(feature = "redis")]
    pub(crate) fn counts_blocked(&self) -> bool {
        match self {
            Self::Slots(algorithm) => algorithm.counts_blocked,
            Self::Log(algorithm) => algorithm.counts_blocked,
            Self::Decay(algorithm) => algorithm.counts_blocked,
            Self::Level(_) | Self::Counter(_) | Self::Smooth(_) => false,
        }
    }

    /// A call that does not fit yet may reserve its place.
    pub(crate) fn reserves(&self) -> bool {
        fn of<R: Algorithm>(_: &R) -> bool {
            R::RESERVES
        }
        match self {
            Self::Level(algorithm) => of(algorithm),
            Self::Slots(algorithm) => of(algorithm),
            Self::Counter(algorithm) => of(algorithm),
            Self::Log(algorithm) => of(algorithm),
            Self::Decay(algorithm) => of(algorithm),
            Self::Smooth(algorithm) => of(algorithm),
        }
    }

    /// The time that a full entry takes to drain.
    #[inline]
    pub(crate) fn window(&self) -> Micros {
        match self {
            Self::Level(algorithm) => algorithm.window,
            Self::Slots(algorithm) => algorithm.window(),
            Self::Counter(algorithm) => algorithm.window(),
            Self::Log(algorithm) => algorithm.window(),
            Self::Decay(algorithm) => algorithm.window(),
            Self::Smooth(algorithm) => algorithm.window(),
        }
    }
}
