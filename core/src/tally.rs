//! Counts of one limit, which any thread may add to.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::stripe::{self, STRIPES};

/// The longest wait of each bucket, in milliseconds.
pub(crate) const WAIT_BOUNDS_MS: [u64; 10] = [10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000];

/// Defines [`Decisions`] and [`Tally`], their counts by name, and [`Counted`], the numbers that were read of them.
macro_rules! tally {
    (
        $($(#[doc = $of_decision:literal])+ $decision:ident,)+;
        $($(#[doc = $about:literal])+ $count:ident,)+
    ) => {
        /// Counts that nearly every call adds to. On a cache line of their own.
        #[derive(Debug, Default)]
        #[repr(align(64))]
        struct Decisions {
            $($(#[doc = $of_decision])+ $decision: Count,)+
        }

        /// Counts of the calls of one limit.
        #[derive(Debug)]
        pub(crate) struct Tally {
            /// No two threads count at the same time.
            in_turn: bool,
            /// Those of threads that have a stripe for themselves, and of all others.
            decisions: [Decisions; STRIPES],
            common: Decisions,
            $($(#[doc = $about])+ pub(crate) $count: Count,)+
            /// Calls that waited for their turn: those of each bound, and those that waited for longer than the last.
            waits: [Count; WAIT_BOUNDS_MS.len() + 1],
        }

        /// The numbers of a [`Tally`] at one time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct Counted {
            $(pub(crate) $decision: u64,)+
            $(pub(crate) $count: u64,)+
            pub(crate) waits: [u64; WAIT_BOUNDS_MS.len() + 1],
        }

        impl Tally {
            pub(crate) fn new(in_turn: bool) -> Self {
                let decisions = array::from_fn(|_| Decisions::default());
                let (common, waits) = (Decisions::default(), array::from_fn(|_| Count::default()));
                Self { in_turn, decisions, common, $($count: Count::default(),)+ waits }
            }

            pub(crate) fn read(&self) -> Counted {
                let waits = array::from_fn(|bound| self.waits[bound].read());
                let all = || self.decisions.iter().chain([&self.common]);
                $(let $decision = all().map(|decisions| decisions.$decision.read()).sum();)+
                Counted { $($decision,)+ $($count: self.$count.read(),)+ waits }
            }
        }
    };
}

tally! {
    /// Calls that it admitted, and that left a fifth of it or more.
    roomy,
    /// Calls that it denied.
    denied,
    /// Calls that it admitted, and that left less than a fifth of it.
    near,;
    /// Calls that ended in an error.
    failed,
    /// Calls that it would have admitted, where it was observed.
    observed_allowed,
    /// Calls that it would have denied, where it was observed.
    observed_denied,
    /// The time for which calls waited for their turn, in milliseconds.
    waited_ms,
    /// Units that were taken to be held.
    held,
    /// Units that were released.
    released,
}

/// The outcome of a check that was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Denied,
    /// It was admitted, and left less than a fifth of its limit.
    Near,
    Roomy,
}

impl Fate {
    #[inline]
    pub(crate) const fn new(is_denied: bool, is_near: bool) -> Self {
        match (is_denied, is_near) {
            (true, _) => Self::Denied,
            (false, true) => Self::Near,
            (false, false) => Self::Roomy,
        }
    }
}

impl Decisions {
    #[inline]
    const fn of(&self, fate: Fate) -> &Count {
        match fate {
            Fate::Denied => &self.denied,
            Fate::Near => &self.near,
            Fate::Roomy => &self.roomy,
        }
    }
}

impl Tally {
    /// Counts a call that was decided, with one addition. Where no other thread counts at the same time, or none in the
    /// same stripe, that is a load and a store: two threads that share a limit then count in no time that can be measured,
    /// in place of 53 ns a call.
    #[inline]
    pub(crate) fn decided(&self, fate: Fate) {
        let own = if self.in_turn { Some(&self.common) } else { self.decisions.get(stripe::mine()) };
        match own {
            Some(decisions) => {
                let count = decisions.of(fate);
                count.0.store(count.read().wrapping_add(1), Ordering::Relaxed);
            }
            None => self.decided_first(fate),
        }
    }

    /// The same in a thread that has no stripe yet, or that found none.
    #[cold]
    #[inline(never)]
    fn decided_first(&self, fate: Fate) {
        self.decisions.get(stripe::claim()).unwrap_or(&self.common).of(fate).add(1);
    }

    /// Counts a call that waited for so long.
    pub(crate) fn waited(&self, wait_ms: u64) {
        self.waits[WAIT_BOUNDS_MS.partition_point(|bound| *bound < wait_ms)].add(1);
        self.waited_ms.add(wait_ms);
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
