//! The compiled rules: the dispatch to their algorithms.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::numbers::Twin;
#[cfg(feature = "remote")]
use super::numbers::{Numbers, Stored};
use super::{Algorithm, Drains, Entry, Figures, Mended, Shape, shapes, states};
use crate::info::UNLIMITED;
use crate::time::Micros;

/// Calls the algorithm of a rule with the state that the entry holds for it.
macro_rules! with_algorithm {
    ($rule:expr, $entry:expr, $now:expr, |$algorithm:ident, $state:ident| $question:expr) => {
        $crate::algorithm::states!(with_algorithm!($rule, $entry, $now, $algorithm, $state, $question))
    };
    ($rule:expr, $entry:expr, $now:expr, $algorithm:ident, $state:ident, $question:expr;
        small: [$($small:ident $small_name:ident $_small:tt)*]
        long: [$($long:ident $long_name:ident $_long:tt)*]) => {
        match $rule {
            $(Rule::$small($algorithm) => {
                let $state = $entry.$small_name(|| $algorithm.fresh($now));
                $question
            })*
            $(Rule::$long($algorithm) => {
                let $state = $entry.$long_name(|| $algorithm.fresh($now));
                $question
            })*
        }
    };
}

pub(crate) use with_algorithm;

/// Calls the algorithm of a rule.
macro_rules! with_rule {
    ($rule:expr, |$algorithm:ident| $question:expr) => { states!(with_rule!($rule, $algorithm, $question)) };
    ($rule:expr, $algorithm:ident, $question:expr; small: [$($small:ident $small_name:ident $_small:tt)*]
        long: [$($long:ident $long_name:ident $_long:tt)*]) => {
        match $rule {
            $(Rule::$small($algorithm) => $question,)*
            $(Rule::$long($algorithm) => $question,)*
        }
    };
}

/// Calls the algorithm of a rule whose state is copied, or does something else.
macro_rules! with_small {
    ($rule:expr, |$algorithm:ident| $question:expr, else $other:expr) => {
        $crate::algorithm::states!(with_small!($rule, $algorithm, $question, $other))
    };
    ($rule:expr, $algorithm:ident, $question:expr, $other:expr; small: [$($small:ident $small_name:ident $_small:tt)*]
        long: [$($long:ident $long_name:ident $_long:tt)*]) => {
        match $rule {
            $(Rule::$small($algorithm) => $question,)*
            $(Rule::$long(_) => $other,)*
        }
    };
}
pub(crate) use with_small;

/// Calls the algorithm of a rule whose state is lent with the state that the entry holds for it, or does something else.
macro_rules! with_long {
    ($rule:expr, $entry:expr, $now:expr, |$algorithm:ident, $state:ident| $question:expr, else $other:expr) => {
        $crate::algorithm::states!(with_long!($rule, $entry, $now, $algorithm, $state, $question, $other))
    };
    ($rule:expr, $entry:expr, $now:expr, $algorithm:ident, $state:ident, $question:expr, $other:expr;
        small: [$($small:ident $small_name:ident $_small:tt)*]
        long: [$($long:ident $long_name:ident $_long:tt)*]) => {
        match $rule {
            $(Rule::$small(_) => $other,)*
            $(Rule::$long($algorithm) => {
                let $state = $entry.$long_name(|| $algorithm.fresh($now));
                $question
            })*
        }
    };
}
pub(crate) use with_long;

macro_rules! rule {
    (; small: [$($small:ident $small_name:ident ($small_rule:ty, $copied:ty, $small_doc:literal))*]
        long: [$($long:ident $long_name:ident ($long_rule:ty, $lent:ty, $long_doc:literal))*]) => {
        /// A compiled limit: the integers that a decision works with, already scaled for one actor.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) enum Rule {
            $(#[doc = $small_doc] $small($small_rule),)*
            $(#[doc = $long_doc] $long($long_rule),)*
        }

        impl Rule {
            /// True if a call that writes nothing leaves this entry as it was, so that a long one is not copied: it has
            /// this rule's shape, and no wrong clock has left it in the future.
            pub(crate) fn may_borrow(&self, entry: &Entry, now: Micros) -> bool {
                match (self, entry) {
                    $((Self::$long(algorithm), Entry::$long(state)) => algorithm.mended(state, now).is_none(),)*
                    _ => false,
                }
            }

            /// [`Algorithm::mended`] by this rule's algorithm, for an entry of its own.
            pub(crate) fn mended(&self, entry: &Entry, now: Micros) -> Option<Entry> {
                match (self, entry) {
                    $((Self::$small(algorithm), Entry::$small(state)) => {
                        algorithm.mended(state, now).map(|mended| mended.into_entry(Entry::$small))
                    })*
                    $((Self::$long(algorithm), Entry::$long(state)) => {
                        algorithm.mended(state, now).map(|mended| mended.into_entry(Entry::$long))
                    })*
                    _ => None,
                }
            }

            /// The entry that this rule has left as these numbers.
            #[cfg(feature = "remote")]
            pub(crate) fn entry_of(&self, numbers: &mut impl Numbers) -> Option<Entry> {
                Some(match self {
                    $(Self::$small(_) => Entry::$small(Stored::read(numbers)?),)*
                    $(Self::$long(_) => Entry::$long(Stored::read(numbers)?),)*
                })
            }
        }
    };
}

macro_rules! shape {
    (; small: [$($small:ident $small_name:ident $_small:tt)*] long: [$($long:ident $long_name:ident $_long:tt)*]) => {
        impl Rule {
            /// The shape of what this rule keeps, as the first or only one of a limit.
            pub(crate) fn shape(&self) -> Shape {
                match self {
                    $(Self::$small(_) => Shape::$small,)*
                    $(Self::$long(_) => Shape::$long,)*
                    Self::Block(_) => Shape::Level, // it stands beside the first one
                }
            }
        }
    };
}

shapes!(shape!());

impl<S> Mended<S> {
    pub(crate) fn into_entry(self, entry_of: impl FnOnce(S) -> Entry) -> Entry {
        match self {
            Self::To(state) => entry_of(state),
            Self::Absent => Entry::Absent,
        }
    }
}

states!(rule!());

/// Refuses to compile where two algorithms have one number, or one has that of a layout.
macro_rules! numbered {
    (; small: [$($small:ident $small_name:ident ($small_rule:ty, $copied:ty, $small_doc:literal))*]
        long: [$($long:ident $long_name:ident ($long_rule:ty, $lent:ty, $long_doc:literal))*]) => {
        const _: () = {
            let kinds = [$(<$small_rule as Twin>::KIND,)* $(<$long_rule as Twin>::KIND,)*];
            let mut seen = 1_u64;
            let mut rest: &[u8] = &kinds;
            while let [kind, others @ ..] = rest {
                assert!(seen & (1 << *kind) == 0, "each algorithm has a number of its own, above 0");
                (seen, rest) = (seen | 1 << *kind, others);
            }
        };
    };
}

states!(numbered!());

impl Rule {
    /// Until this cost fits, to the microsecond that an answer rounds up.
    pub(crate) fn until(&self, entry: &mut Entry, now: Micros, cost: u64) -> Micros {
        with_algorithm!(self, entry, now, |algorithm, state| algorithm.until(state, now, cost))
    }

    /// True if this cost fits into an entry that has been brought to now.
    pub(crate) fn fits(&self, entry: &mut Entry, now: Micros, cost: u64) -> bool {
        with_algorithm!(self, entry, now, |algorithm, state| algorithm.fits(state, now, cost))
    }

    /// Until the entry is empty.
    pub(crate) fn full_in(&self, entry: &mut Entry, now: Micros) -> Micros {
        with_algorithm!(self, entry, now, |algorithm, state| algorithm.full(state, now))
    }

    /// [`Algorithm::room`] in a copy of this entry, brought to now.
    pub(crate) fn room(&self, entry: &Entry, now: Micros, at_least: u64) -> u64 {
        let mut copy = entry.clone();
        with_algorithm!(self, copy, now, |algorithm, state| {
            algorithm.advance(state, now);
            algorithm.room(state, now, at_least)
        })
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

    /// [`drains`](Self::drains), unless the entry is empty.
    pub(crate) fn drains_unless_empty(&self, entry: &mut Entry, now: Micros) -> Option<Drains> {
        (!self.is_empty(entry, now)).then(|| self.drains(entry, now))
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

    /// Its entries can be raised to what an upstream server says of its own limit.
    pub(crate) fn observes(&self) -> bool {
        fn of<R: Algorithm>(_: &R) -> bool {
            R::OBSERVES
        }
        with_rule!(self, |algorithm| of(algorithm))
    }

    /// Units are held until they are given back.
    pub(crate) fn holds(&self) -> bool {
        fn of<R: Algorithm>(_: &R) -> bool {
            R::HOLDS
        }
        with_rule!(self, |algorithm| of(algorithm))
    }

    /// A cost is admitted whatever it leads to.
    #[cfg(feature = "remote")]
    pub(crate) fn pays_later(&self) -> bool {
        fn of<R: Algorithm>(_: &R) -> bool {
            R::PAYS_LATER
        }
        with_rule!(self, |algorithm| of(algorithm))
    }

    /// One charge drains after the other, instead of all at once.
    pub(crate) fn drains_in_turn(&self) -> bool {
        fn of<R: Algorithm>(_: &R) -> bool {
            R::DRAINS_IN_TURN
        }
        with_rule!(self, |algorithm| of(algorithm))
    }

    /// True if a state of this rule that several actors share bounds the state that each of them would have alone.
    pub(crate) fn can_be_shared(&self) -> bool {
        with_rule!(self, |algorithm| algorithm.can_be_shared())
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

    /// The same for a decision at about this instant, and the instants for which that holds.
    #[cfg(feature = "redis")]
    pub(crate) fn twin_at(&self, now: Micros) -> (u8, [f64; 6], Option<[Micros; 2]>) {
        fn of<R: Twin>(rule: &R, now: Micros) -> (u8, [f64; 6], Option<[Micros; 2]>) {
            (R::KIND, rule.numbers_at(now), rule.holds(now))
        }
        with_rule!(self, |rule| of(rule, now))
    }

    /// Half a fingerprint: equal for equal rules, and different for others. Rules are made by the program, not by its
    /// clients, so it needs no secret.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let (kind, numbers) = self.twin();
        (kind, numbers.map(f64::to_bits)).hash(&mut hasher);
        hasher.finish()
    }

    /// The most calls of cost 1 at one instant.
    pub(crate) fn burst(&self) -> Option<u64> {
        with_rule!(self, |rule| rule.burst())
    }

    /// No more calls of cost 1 than this per second in the long run.
    pub(crate) fn per_second(&self) -> Option<f64> {
        let (calls, micros) = with_rule!(self, |rule| rule.pace());
        (micros > 0.0).then_some(calls * 1_000_000.0 / micros)
    }

    /// The most calls of cost 1 in any span this long; no more than every language holds exactly.
    pub(crate) fn most_in(&self, span: Micros) -> Option<u64> {
        let most = with_rule!(self, |rule| rule.most_in(span))?;
        Some(u64::try_from(most).unwrap_or(UNLIMITED).min(UNLIMITED))
    }

    /// A note on what these numbers do not show.
    pub(crate) fn note(&self) -> Option<&'static str> {
        with_rule!(self, |rule| rule.note())
    }
}
