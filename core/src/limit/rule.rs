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
}

impl Cell {
    /// What the level may rise to.
    pub(crate) const fn capacity(&self) -> u64 {
        self.quota.saturating_mul(self.unit.get())
    }

    /// How long `level` takes to drain, counted in whole ticks.
    pub(crate) fn drain_time(&self, level: u64) -> Micros {
        // Dividing is most of what this costs, and most limits drain one at a time.
        let ticks = if self.drain.get() == 1 { level } else { level.div_ceil(self.drain.get()) };
        ticks.saturating_mul(self.tick.get())
    }
}
