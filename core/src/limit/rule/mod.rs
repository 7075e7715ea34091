//! Compiled definitions: the integers that a decision works with, already scaled for one actor.

mod decay;
mod level;
mod multiples;
mod real;
mod smooth;

use std::num::NonZeroU64;

pub(crate) use decay::Decay;
pub(crate) use level::LevelRule;
use multiples::Multiples;
pub(crate) use real::{floor, real, whole, whole_up};
pub(crate) use smooth::Smooth;

use crate::shape::Shape;
use crate::time::Micros;

/// A compiled limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    /// A level that drains at ticks: bucket, token-bucket and fixed-window.
    Level(LevelRule),
    /// Counts in slots: sliding-window.
    Slots(Slots),
    /// Two weighted windows: sliding-counter.
    Counter(Counter),
    /// Every instant: sliding-log.
    Log(Log),
    /// A decaying count: decay.
    Decay(Decay),
    /// Paced permits: smooth.
    Smooth(Smooth),
}

impl Rule {
    /// The shape of what this rule keeps, as the first or only one of a limit.
    fn shape(&self) -> Shape {
        match self {
            Self::Level(_) => Shape::Level,
            Self::Slots(_) => Shape::Slots,
            Self::Counter(_) => Shape::Counter,
            Self::Log(_) => Shape::Log,
            Self::Decay(_) => Shape::Decay,
            Self::Smooth(_) => Shape::Smooth,
        }
    }
}

/// The rules that one limit asks for: none, one, or the two of an exactly translated legacy limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rules {
    Unlimited,
    One(Rule),
    Both(Rule, Rule),
}

impl Rules {
    /// The shape of the first rule's entry; a level where there is no rule.
    pub(crate) fn shape(&self) -> Shape {
        self.iter().next().map_or(Shape::Level, Rule::shape)
    }

    /// Each rule with the shape of its entry.
    pub(crate) fn shaped(&self) -> impl Iterator<Item = (Shape, &Rule)> {
        [self.shape(), Shape::Interval].into_iter().zip(self.iter())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Rule> {
        let (first, second) = match self {
            Self::Unlimited => (None, None),
            Self::One(rule) => (Some(rule), None),
            Self::Both(first, second) => (Some(first), Some(second)),
        };
        first.into_iter().chain(second)
    }
}

/// Counts in slots of `resolution`, all of which together may reach `max` within a `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) max: u64,
    pub(crate) period: Micros,
    pub(crate) resolution: NonZeroU64,
    pub(crate) counts_blocked: bool,
}

impl Slots {
    pub(crate) fn new(max: u64, period: Micros, resolution: Micros, counts_blocked: bool) -> Self {
        Self { max, period, resolution: at_least_one(resolution), counts_blocked }
    }
}

/// The counts of this window and of the one before, weighted in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) max: u64,
    pub(crate) period: NonZeroU64,
    pub(crate) multiples: Multiples,
    /// The length of a tick in microseconds, and the ticks in a period.
    pub(crate) tick: NonZeroU64,
    pub(crate) ticks: NonZeroU64,
    /// The most that the weighted counts may come to: `max * ticks`.
    pub(crate) capacity: u64,
}

impl Counter {
    pub(crate) fn new(max: u64, period: Micros, tick: Micros) -> Self {
        let (period, tick) = (at_least_one(period), at_least_one(tick));
        let ticks = at_least_one(period.get() / tick);
        Self { max, period, multiples: Multiples::of(period), tick, ticks, capacity: max.saturating_mul(ticks.get()) }
    }
}

/// Every charged instant younger than `period`, of which there may be `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) max: u64,
    pub(crate) period: Micros,
    /// 0 = none.
    pub(crate) min_interval: Micros,
    pub(crate) counts_blocked: bool,
}

fn at_least_one(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN)
}
