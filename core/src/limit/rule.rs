//! What a definition compiles to: the integers that a decision works with, already scaled for one actor.

use std::num::NonZeroU64;

use crate::time::Micros;

/// A compiled limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A level that drains at ticks: bucket, token-bucket and fixed-window.
    Cell(Cell),
}

/// The rules that one limit asks for: none, one, or the two of an exactly translated legacy limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    Unlimited,
    One(Rule),
    Both(Rule, Rule),
}

impl Rules {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Rule> {
        let (first, second) = match self {
            Self::Unlimited => (None, None),
            Self::One(rule) => (Some(rule), None),
            Self::Both(first, second) => (Some(first), Some(second)),
        };
        first.into_iter().chain(second)
    }
}

/// A level that drains by `drain` at each tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// How many units of cost fit into an empty cell.
    pub(crate) quota: u64,
    /// What one unit of cost weighs.
    pub(crate) unit: NonZeroU64,
    /// How long a tick is, in microseconds.
    pub(crate) tick: NonZeroU64,
    /// What leaves at each tick.
    pub(crate) drain: NonZeroU64,
    /// Ticks fall on multiples of `tick` since the epoch instead of counting from the first charge.
    pub(crate) aligned: bool,
    /// What the level may rise to: `quota * unit`.
    pub(crate) capacity: u64,
    /// How long a full cell takes to drain.
    pub(crate) window: Micros,
}

impl Cell {
    /// A cell whose units weigh 1 and whose ticks count from the first charge; none of the numbers may be 0.
    pub(crate) fn new(quota: u64, tick: Micros, drain: u64) -> Self {
        let at_least_one = |number: u64| NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN);
        let cell = Self {
            quota,
            unit: NonZeroU64::MIN,
            tick: at_least_one(tick),
            drain: at_least_one(drain),
            aligned: false,
            capacity: quota,
            window: 0,
        };
        Self { window: cell.drain_time(quota), ..cell }
    }

    /// The same cell with units of this weight.
    pub(crate) fn weighing(self, unit: u64) -> Self {
        let unit = NonZeroU64::new(unit).unwrap_or(NonZeroU64::MIN);
        let capacity = self.quota.saturating_mul(unit.get());
        Self { unit, capacity, window: self.drain_time(capacity), ..self }
    }

    /// How long `level` takes to drain, counted in whole ticks.
    #[inline]
    pub(crate) fn drain_time(&self, level: u64) -> Micros {
        // Dividing is most of what this costs, and most limits drain one at a time.
        let ticks = if self.drain.get() == 1 { level } else { level.div_ceil(self.drain.get()) };
        ticks.saturating_mul(self.tick.get())
    }
}
