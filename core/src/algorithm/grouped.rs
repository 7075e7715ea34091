//! A level of which units leave at the end of a group of ticks alone: the arithmetic of [`LevelRule`] where that is
//! known when it is compiled, as nearly all limits are such. It takes 1 ns of 24 off a decision.

use super::{Algorithm, Drains, Level, LevelRule, Mended};
use crate::time::Micros;

/// A rule that drains [by groups](LevelRule::by_groups).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grouped<'a>(pub(crate) &'a LevelRule);

impl Algorithm for Grouped<'_> {
    type State = Level;

    const RESERVES: bool = LevelRule::RESERVES;

    fn fresh(&self, now: Micros) -> Level {
        self.0.fresh(now)
    }

    #[inline(always)]
    fn advance(&self, state: &mut Level, now: Micros) -> bool {
        self.0.advance(state, now)
    }

    fn mended(&self, state: &Level, now: Micros) -> Option<Mended<Level>> {
        self.0.mended(state, now)
    }

    fn is_empty(&self, state: &Level, now: Micros) -> bool {
        self.0.is_empty(state, now)
    }

    fn charge(&self, state: &mut Level, now: Micros, cost: u64) {
        self.0.charge(state, now, cost);
    }

    fn give_back(&self, state: &mut Level, now: Micros, cost: u64) {
        self.0.give_back(state, now, cost);
    }

    fn undo(&self, state: &mut Level, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        self.0.undo(state, now, cost, spent, charged_at);
    }

    #[inline]
    fn until(&self, state: &Level, now: Micros, cost: u64) -> Micros {
        self.0.until(state, now, cost)
    }

    #[inline(always)]
    fn fits(&self, state: &Level, _now: Micros, cost: u64) -> bool {
        state.level.wrapping_add(cost) <= self.0.quota
    }

    fn bears(&self, state: &Level, now: Micros, cost: u64) -> bool {
        self.0.bears(state, now, cost)
    }

    #[inline(always)]
    fn remaining(&self, state: &Level, _now: Micros) -> u64 {
        self.0.quota.saturating_sub(state.level)
    }

    #[inline]
    fn full(&self, state: &Level, now: Micros) -> Micros {
        self.0.full(state, now)
    }

    #[inline(always)]
    fn next(&self, state: &Level, now: Micros, remaining: u64) -> Micros {
        self.0.next_of(true, state, now, remaining)
    }

    #[inline(always)]
    fn drains(&self, state: &Level, now: Micros) -> Drains {
        self.0.drains(state, now)
    }

    fn quota(&self) -> u64 {
        self.0.quota
    }

    fn window(&self) -> Micros {
        self.0.window
    }

    fn window_ms(&self) -> u64 {
        self.0.window_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{EXACT, LONGEST, millis_up};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

        /// For any state that a call may find, and as many units as a decision may ask for.
        #[test]
        fn waits_are_those_of_wide_arithmetic(
            quota in 1_u64..(1 << 52), cost in 0_u64..(1 << 52), level in 0_u64..(1 << 52), bits in 0_u32..52,
            tick in 1..=LONGEST, since in 0..EXACT, elapsed in 0..EXACT,
        ) {
            let rule = LevelRule::new(quota >> bits, tick, 1);
            let (level, cost, now) = ((level >> bits).min(rule.most), cost.min(rule.quota), since / 2 + elapsed / 2);
            let (state, grouped) = (Level { level, since }, Grouped(&rule));
            let units = (u128::from(level) + u128::from(cost)).saturating_sub(rule.quota.into());
            let until = |units: u128| match units {
                0 => 0,
                _ => (u128::from(since) + units * u128::from(tick)).saturating_sub(now.into()),
            };
            prop_assert_eq!(grouped.fits(&state, now, cost), units == 0);
            prop_assert_eq!(rule.fits(&state, now, cost), units == 0);
            prop_assert_eq!(u128::from(grouped.until(&state, now, cost)), until(units));
            prop_assert_eq!(u128::from(grouped.full(&state, now)), until(level.into()));
            let remaining = grouped.remaining(&state, now);
            let next = u128::from(level + remaining + 1).saturating_sub(rule.quota.into());
            prop_assert_eq!(u128::from(grouped.next(&state, now, remaining)), if remaining < rule.quota { until(next) } else { 0 });
            prop_assert_eq!(u128::from(millis_up(grouped.full(&state, now))), until(level.into()).div_ceil(1000));
        }
    }
}
