//! The cell: bucket, token-bucket and fixed-window.

use std::num::NonZeroU64;

use super::at_least_one;
use crate::span::Span;
use crate::time::{Micros, millis_up};

/// With fewer ticks to a full cell, a level's drain time tells too little of the level.
const FEW_TICKS: u64 = 16;

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
    /// The same, as every answer says it.
    pub(crate) window_ms: u64,
    /// The same, where a level drains in proportion.
    pub(crate) window_span: Option<Span>,
}

impl Cell {
    /// A cell whose units weigh 1 and whose ticks count from the first charge; none of the numbers may be 0.
    pub(crate) fn new(quota: u64, tick: Micros, drain: u64) -> Self {
        let cell = Self {
            quota,
            unit: NonZeroU64::MIN,
            tick: at_least_one(tick),
            drain: at_least_one(drain),
            aligned: false,
            capacity: quota,
            window: 0,
            window_ms: 0,
            window_span: None,
        };
        cell.weighing(1)
    }

    /// The same cell with units of this weight.
    pub(crate) fn weighing(self, unit: u64) -> Self {
        let unit = at_least_one(unit);
        let capacity = self.quota.saturating_mul(unit.get());
        let window = self.drain_time(capacity);
        // One at a time, a level drains in proportion whatever the number of ticks.
        let in_proportion = self.drain.get() == 1 || self.drain.get() <= capacity / FEW_TICKS;
        let window_span = in_proportion.then_some(Span::of(window));
        Self { unit, capacity, window, window_ms: millis_up(window), window_span, ..self }
    }

    /// How long a full cell takes to drain, going by this level, which is not 0, and how long that one takes.
    ///
    /// Where few ticks empty a full cell, all levels take about as long. A table that compares drain times then has to
    /// take a window as so much longer as the level is lower, or one call would look like as many as fit.
    #[inline]
    pub(crate) fn window_at(&self, level: u64, drain_time: Span) -> Span {
        self.window_span.unwrap_or_else(|| drain_time.of_whole(Span::of(level), Span::of(self.capacity)))
    }

    /// How long `level` takes to drain, counted in whole ticks.
    #[inline]
    pub(crate) fn drain_time(&self, level: u64) -> Micros {
        // Dividing is most of what this costs, and most limits drain one at a time, or all at once.
        let ticks = match self.drain.get() {
            1 => level,
            drain if level <= drain => u64::from(level > 0),
            drain => level.div_ceil(drain),
        };
        ticks.saturating_mul(self.tick.get())
    }
}
