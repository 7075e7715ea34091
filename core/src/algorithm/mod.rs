//! Algorithms: a file for each shape of state, with its compiled rule, its state and its arithmetic.
//!
//! A new one is a file here, its twin in `store/redis/lua/`, and two lines below.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions))]
#![allow(clippy::inline_always, reason = "a state whose address is passed on is in memory instead of registers")]

mod almanac;
mod block;
mod calendar;
mod counter;
mod decay;
mod entry;
mod figures;
mod grouped;
mod held;
mod level;
mod log;
mod log2;
mod numbers;
mod real;
mod rule;
mod runs;
mod series;
mod shape;
mod slots;
mod smooth;
mod spans;
mod uneven;

use std::num::NonZeroU64;

pub(crate) use almanac::Almanac;
pub use almanac::CalendarUnit;
pub(crate) use block::Block;
pub(crate) use calendar::Calendar;
pub(crate) use counter::Counter;
pub(crate) use decay::Decaying;
pub(crate) use entry::{Entry, IntoEntry, Small};
pub(crate) use figures::{Figures, product};
pub(crate) use grouped::Grouped;
pub(crate) use held::Concurrent;
pub(crate) use level::{Level, LevelRule};
pub(crate) use log::Log;
#[cfg(feature = "remote")]
pub(crate) use numbers::Doubles;
#[cfg(feature = "redis")]
pub(crate) use numbers::Numbers;
#[cfg(all(feature = "shm", target_os = "linux"))]
pub(crate) use numbers::Stored;
pub(crate) use real::{floor, nearest, real, whole, whole_up};
pub(crate) use rule::{Rule, with_algorithm, with_long, with_small};
#[cfg_attr(not(feature = "remote"), allow(unreachable_pub, reason = "remote stores name entries by it"))]
pub use shape::Shape;
pub(crate) use slots::Slots;
pub(crate) use smooth::Pacing;
pub(crate) use uneven::Uneven;

use crate::log_duration::LogDuration;
use crate::time::{Micros, millis_up};

/// Every shape of state: its variant of [`Rule`], [`Entry`] and [`Shape`], its file here and in Lua, its rule, its state
/// and its documentation. Small states are copied; long ones are lent.
macro_rules! shapes {
    ($with:ident!($($arguments:tt)*)) => {
        $with! { $($arguments)*;
            small: [
                Level level (super::LevelRule, super::Level,
                    "A level that drains: bucket, token bucket, fixed window, and a legacy limit.")
                Counter counter (super::Counter, super::counter::Windows, "The counts of two windows: sliding counter.")
                Decay decay (super::Decaying, super::decay::Decayed, "A count that decays.")
                Smooth smooth (super::Pacing, super::smooth::Paced,
                    "Permits that were saved up, and the instant of the next turn.")
                Calendar calendar (super::Calendar, super::calendar::Counted, "A count for a window of a calendar.")
            ] long: [
                Slots slots (super::Slots, super::series::Series, "Counts in slots: sliding window.")
                Log log (super::Log, super::series::Series, "Instants with their units: sliding log.")
                Held held (super::Concurrent, super::series::Series, "Units that are held: concurrency.")
            ]
        }
    };
}
pub(crate) use shapes;

/// The same with the block, which has no shape of its own: it stands beside the state of its limit.
macro_rules! states {
    ($with:ident!($($arguments:tt)*)) => { $crate::algorithm::shapes! { states!($with, ($($arguments)*)) } };
    ($with:ident, ($($arguments:tt)*); small: [$($small:tt)*] long: $long:tt) => {
        $with! { $($arguments)*;
            small: [
                $($small)*
                Block block (super::Block, super::block::Blocked, "The last block after a refusal.")
            ] long: $long
        }
    };
}
pub(crate) use states;

/// The arithmetic of one kind of rule: all that the calls need of it.
///
/// Every question but `advance` and `mended` is asked of a state that has been brought to `now`.
pub(crate) trait Algorithm {
    type State;

    /// A call that does not fit yet may reserve its place.
    const RESERVES: bool;

    /// A cost is admitted whatever it leads to, so that nothing else bounds it.
    const PAYS_LATER: bool = false;

    /// [`observe`](Self::observe) can raise its states.
    const OBSERVES: bool = false;

    /// Units are held until they are given back, instead of spent, and can be [renewed](Self::renew).
    const HOLDS: bool = false;

    /// One charge drains after the other, instead of all at once.
    const DRAINS_IN_TURN: bool = true;

    /// The state that an absent entry stands for.
    fn fresh(&self, now: Micros) -> Self::State;
    /// Brings the state to `now`. True where it was from a future that cannot be, because a clock was wrong: it has
    /// been repaired, and must be kept as repaired, or it would be repaired for ever.
    fn advance(&self, state: &mut Self::State, now: Micros) -> bool;
    /// A state from a future that cannot be as it has to be kept by a call that writes nothing else; `None` for any other
    /// state. It need not have been brought to `now`.
    fn mended(&self, state: &Self::State, now: Micros) -> Option<Mended<Self::State>>;
    fn is_empty(&self, state: &Self::State, now: Micros) -> bool;
    fn charge(&self, state: &mut Self::State, now: Micros, cost: u64);
    fn give_back(&self, state: &mut Self::State, now: Micros, cost: u64);
    /// Makes of a cost that was charged at an earlier instant the part of it that was spent: gives back what differs
    /// now between a state in which all of it was charged then, and one in which only that part was.
    fn undo(&self, state: &mut Self::State, now: Micros, cost: u64, spent: u64, charged_at: Micros);
    /// True if so many units of a charge at this instant are held still.
    fn holds(&self, _state: &Self::State, _now: Micros, _cost: u64, _charged_at: Micros) -> bool {
        false
    }
    /// Makes of so many units that were charged at an earlier instant, and are held still, units of a charge at `now`.
    fn renew(&self, _state: &mut Self::State, _now: Micros, _cost: u64, _charged_at: Micros) {}
    /// The instant that a charge at `now` counts as; later where the clock is behind the entry.
    #[inline(always)]
    fn charged_at(&self, _state: &Self::State, now: Micros) -> Micros {
        now
    }
    /// Until this cost fits; 0 = it does.
    fn until(&self, state: &Self::State, now: Micros, cost: u64) -> Micros;
    fn fits(&self, state: &Self::State, now: Micros, cost: u64) -> bool;
    /// True if the numbers stay exact when this cost is charged, fit or not.
    fn bears(&self, state: &Self::State, now: Micros, cost: u64) -> bool;
    fn remaining(&self, state: &Self::State, now: Micros) -> u64;
    /// The largest cost that fits now, of a call that takes at least so many units.
    fn room(&self, state: &Self::State, now: Micros, _at_least: u64) -> u64 {
        self.remaining(state, now)
    }
    /// The state in which no more than `remaining` units are left, and none before `retry_after` is over; `None` where
    /// that is so already.
    fn observe(
        &self,
        _state: &Self::State,
        _now: Micros,
        _remaining: u64,
        _retry_after: Micros,
    ) -> Option<Self::State> {
        None
    }
    /// Until the state is empty.
    fn full(&self, state: &Self::State, now: Micros) -> Micros;
    /// Until one unit more fits than `remaining`; 0 = no more can.
    #[inline(always)]
    fn next(&self, state: &Self::State, now: Micros, remaining: u64) -> Micros {
        if remaining < self.quota() { self.until(state, now, remaining.saturating_add(1)) } else { 0 }
    }
    /// The time at which the state is empty, for a store that drops it then; asked while others wait, so it may be rough
    /// where that is quicker.
    fn drains(&self, state: &Self::State, now: Micros) -> Drains {
        Drains { since: now, time: LogDuration::of(self.full(state, now)) }
    }
    /// The units that an empty entry admits.
    fn quota(&self) -> u64;
    /// The largest cost that ever fits.
    fn largest_cost(&self) -> u64 {
        self.quota()
    }
    /// The time that a full state takes to drain.
    fn window(&self) -> Micros;
    fn window_ms(&self) -> u64 {
        millis_up(self.window())
    }
    /// A state that several actors share bounds the state that each of them would have alone.
    fn can_be_shared(&self) -> bool {
        true
    }
    /// A denied attempt is charged as well.
    fn counts_blocked(&self) -> bool {
        false
    }
}

/// A state that a wrong clock had left in the future.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mended<S> {
    /// From now, with nothing but its instants changed, whatever this rule makes of the rest.
    To(S),
    Absent,
}

/// The time at which an entry is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drains {
    /// The instant from which the drain time counts.
    pub(crate) since: Micros,
    /// No shorter than it takes.
    pub(crate) time: LogDuration,
}

fn at_least_one(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN)
}
