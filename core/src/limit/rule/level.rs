//! The level: bucket, token-bucket and fixed-window.

use std::num::NonZeroU64;

use super::at_least_one;
use crate::span::Span;
use crate::time::{EXACT, Micros, millis_up};

/// With fewer ticks to a full level, a drain time tells too little of the level.
const FEW_TICKS: u64 = 16;

/// A level that drains at ticks: `drain` units in every `ticks` of them, evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LevelRule {
    /// How many units of cost fit into an empty entry.
    pub(crate) quota: u64,
    /// How long a tick is, in microseconds.
    pub(crate) tick: NonZeroU64,
    /// How many units leave in a group of ticks.
    pub(crate) drain: NonZeroU64,
    /// How many ticks are a group.
    pub(crate) ticks: NonZeroU64,
    /// How long a group takes.
    pub(crate) group: NonZeroU64,
    /// Ticks fall on multiples of `tick` since the epoch instead of counting from the first charge.
    pub(crate) aligned: bool,
    /// Units leave at the end of a group alone: it is one tick, or it drains one unit.
    pub(crate) by_groups: bool,
    /// The units that leave in 2^53 us: a level above this counts as this.
    pub(crate) most: u64,
    /// How long a full entry takes to drain.
    pub(crate) window: Micros,
    /// The same, as every answer says it.
    pub(crate) window_ms: u64,
    /// The same, where a level drains in proportion.
    pub(crate) window_span: Option<Span>,
}

impl LevelRule {
    /// `drain` units leave at each tick, and ticks count from the first charge; none of the numbers may be 0.
    pub(crate) fn new(quota: u64, tick: Micros, drain: u64) -> Self {
        Self::evenly(quota, tick, drain, 1)
    }

    /// `drain` units leave in every so many ticks; `drain * ticks` is at most 2^53.
    pub(crate) fn evenly(quota: u64, tick: Micros, drain: u64, ticks: u64) -> Self {
        let [tick, drain, ticks] = [tick, drain, ticks].map(at_least_one);
        let rule = Self {
            quota,
            tick,
            drain,
            ticks,
            group: at_least_one(tick.get().saturating_mul(ticks.get())),
            aligned: false,
            by_groups: drain.get() == 1 || ticks.get() == 1,
            most: u64::MAX,
            window: 0,
            window_ms: 0,
            window_span: None,
        };
        let window = rule.time(quota);
        // One at a time, a level drains in proportion whatever the number of ticks.
        let few = u128::from(drain.get()) * u128::from(FEW_TICKS) > u128::from(quota) * u128::from(ticks.get());
        let window_span = (drain.get() == 1 || !few).then_some(Span::of(window));
        Self { most: rule.drained(EXACT / tick), window, window_ms: millis_up(window), window_span, ..rule }
    }

    /// How many units leave in so many ticks.
    pub(crate) fn drained(&self, ticks: u64) -> u64 {
        let rest = (ticks % self.ticks).saturating_mul(self.drain.get()) / self.ticks;
        (ticks / self.ticks).saturating_mul(self.drain.get()).saturating_add(rest)
    }

    /// [`drained`](Self::drained), where a part of a unit counts as one.
    pub(crate) fn drained_at_most(&self, ticks: u64) -> u64 {
        let rest = (ticks % self.ticks).saturating_mul(self.drain.get()).div_ceil(self.ticks.get());
        (ticks / self.ticks).saturating_mul(self.drain.get()).saturating_add(rest)
    }

    /// How long a full entry takes to drain, going by this level, which is not 0, and how long that one takes.
    ///
    /// Where few ticks empty a full entry, all levels take about as long. A table that compares drain times then has to
    /// take a window as so much longer as the level is lower, or one call would look like as many as fit.
    #[inline]
    pub(crate) fn window_at(&self, level: u64, drain_time: Span) -> Span {
        self.window_span.unwrap_or_else(|| drain_time.of_whole(Span::of(level), Span::of(self.quota)))
    }

    /// How long so many units take to drain, counted in whole ticks.
    #[inline]
    pub(crate) fn time(&self, units: u64) -> Micros {
        // Dividing is most of what this costs, and most limits drain one at a time, or all at once.
        if self.by_groups {
            let groups = match self.drain.get() {
                1 => units,
                drain if units <= drain => u64::from(units > 0),
                drain => units.div_ceil(drain),
            };
            return groups.saturating_mul(self.group.get());
        }
        self.time_in_ticks(units)
    }

    #[inline(never)]
    fn time_in_ticks(&self, units: u64) -> Micros {
        let rest = (units % self.drain).saturating_mul(self.ticks.get()).div_ceil(self.drain.get());
        (units / self.drain).saturating_mul(self.ticks.get()).saturating_add(rest).saturating_mul(self.tick.get())
    }
}
