//! The level: bucket, token-bucket and fixed-window.

use std::num::NonZeroU64;

use super::at_least_one;
use crate::time::{EXACT, Micros, millis_up};

/// A level that drains at ticks: `drain` units in every `ticks` of them, evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LevelRule {
    /// The units of cost that fit into an empty entry.
    pub(crate) quota: u64,
    /// The length of a tick, in microseconds.
    pub(crate) tick: NonZeroU64,
    /// The units that leave in a group of ticks.
    pub(crate) drain: NonZeroU64,
    /// The ticks in a group.
    pub(crate) ticks: NonZeroU64,
    /// The length of a group.
    pub(crate) group: NonZeroU64,
    /// Ticks fall on multiples of `tick` since the epoch instead of counting from the first charge.
    pub(crate) aligned: bool,
    /// Units leave at the end of a group alone: it is one tick, or it drains one unit.
    pub(crate) by_groups: bool,
    /// The time before which none leave: a group where they leave by groups, else a tick.
    pub(crate) step: NonZeroU64,
    /// The units that leave in 2^53 us: a level above this counts as this.
    pub(crate) most: u64,
    /// The time that a full entry takes to drain.
    pub(crate) window: Micros,
    /// The same, as every answer says it.
    pub(crate) window_ms: u64,
}

impl LevelRule {
    /// `drain` units leave at each tick, and ticks count from the first charge; none of the numbers may be 0.
    pub(crate) fn new(quota: u64, tick: Micros, drain: u64) -> Self {
        Self::evenly(quota, tick, drain, 1)
    }

    /// `drain` units leave in every so many ticks; `drain * ticks` is at most 2^53.
    pub(crate) fn evenly(quota: u64, tick: Micros, drain: u64, ticks: u64) -> Self {
        let [tick, drain, ticks] = [tick, drain, ticks].map(at_least_one);
        let group = at_least_one(tick.get().saturating_mul(ticks.get()));
        let by_groups = drain.get() == 1 || ticks.get() == 1;
        let rule = Self {
            quota,
            tick,
            drain,
            ticks,
            group,
            aligned: false,
            by_groups,
            step: if by_groups { group } else { tick },
            most: u64::MAX,
            window: 0,
            window_ms: 0,
        };
        let window = rule.time(quota);
        Self { most: rule.drained(EXACT / tick), window, window_ms: millis_up(window), ..rule }
    }

    /// [`drained`](Self::drained) in less than a group of ticks.
    #[inline]
    pub(crate) fn drained_in_group(&self, ticks: u64) -> u64 {
        // A whole group drains at most 2^53.
        ticks.saturating_mul(self.drain.get()) / self.ticks
    }

    /// The units that leave in so many ticks.
    pub(crate) fn drained(&self, ticks: u64) -> u64 {
        // An entry that has been brought to now is never a whole group behind.
        if ticks < self.ticks.get() {
            return self.drained_in_group(ticks);
        }
        let rest = (ticks % self.ticks).saturating_mul(self.drain.get()) / self.ticks;
        (ticks / self.ticks).saturating_mul(self.drain.get()).saturating_add(rest)
    }

    /// [`drained`](Self::drained), where a part of a unit counts as one.
    pub(crate) fn drained_at_most(&self, ticks: u64) -> u64 {
        let rest = (ticks % self.ticks).saturating_mul(self.drain.get()).div_ceil(self.ticks.get());
        (ticks / self.ticks).saturating_mul(self.drain.get()).saturating_add(rest)
    }

    /// The time that so many units take to drain, counted in whole ticks.
    #[inline]
    pub(crate) fn time(&self, units: u64) -> Micros {
        // Dividing is most of what this costs, and most limits drain one at a time, or all at once.
        let groups = match self.drain.get() {
            1 => units,
            _ if !self.by_groups => return self.time_aside(units),
            drain if units <= drain => u64::from(units > 0),
            drain => units.div_ceil(drain),
        };
        groups.saturating_mul(self.group.get())
    }

    #[inline(never)]
    fn time_aside(&self, units: u64) -> Micros {
        self.time_in_ticks(units)
    }

    /// [`time`](Self::time) where units leave within groups too.
    #[inline]
    pub(crate) fn time_in_ticks(&self, units: u64) -> Micros {
        let ticks = if let Some(product) = units.checked_mul(self.ticks.get()) {
            product.div_ceil(self.drain.get())
        } else {
            let rest = (units % self.drain).saturating_mul(self.ticks.get()).div_ceil(self.drain.get());
            (units / self.drain).saturating_mul(self.ticks.get()).saturating_add(rest)
        };
        ticks.saturating_mul(self.tick.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Products are taken apart only where they would not fit, and never make a difference.
        #[test]
        fn ticks_and_units_are_those_of_wide_arithmetic(
            bits in 0_u32..52, drain in 1_u64..(1 << 26), ticks in 1_u64..(1 << 27), units in 0_u64..(1 << 52),
        ) {
            let (rule, units) = (LevelRule::evenly(1, 1, drain, ticks), units >> bits);
            let wide = |number: u64, times: u64, by: u64| u128::from(number) * u128::from(times) / u128::from(by);
            prop_assert_eq!(u128::from(rule.drained(units)), wide(units, drain, ticks).min(u64::MAX.into()));
            let time = (u128::from(units) * u128::from(ticks)).div_ceil(u128::from(drain));
            prop_assert_eq!(u128::from(rule.time(units)), time.min(u64::MAX.into()));
        }
    }
}
