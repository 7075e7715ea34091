//! The level: whole units that drain at ticks. Bucket, token bucket and fixed window are this.

use std::num::NonZeroU64;

use super::numbers::{Numbers, Stored, Twin};
use super::{Algorithm, Drains, Figures, Mended, at_least_one, product, real};
use crate::log_duration::LogDuration;
use crate::time::{EXACT, Micros, millis_up};

/// The highest that a charge may take a level.
const HIGHEST_LEVEL: u64 = EXACT / 2;

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

/// Whole units of cost, and the instant at which there were so many. What has drained since, a rule says.
///
/// A level that has been brought to now drains within 2^53 us, an instant is below 2^53, and the costs of a decision are
/// below 2^63 together. So their sums do not wrap, unless a server that is none of ours makes them up. Where each sum was
/// to stop at the largest number, a decision took 20.3 ns in place of 19.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) level: u64,
    pub(crate) since: Micros,
}

impl LevelRule {
    /// The instant at which ticks begin for an entry that is charged at `now`.
    fn start(&self, now: Micros) -> Micros {
        if self.aligned { now.saturating_sub(now % self.tick) } else { now }
    }

    #[inline]
    pub(super) fn ticks(&self, since: Micros, now: Micros) -> u64 {
        let elapsed = now.saturating_sub(since);
        if self.tick.get() == 1 { elapsed } else { elapsed / self.tick }
    }

    /// The rest at `now` of a state that has been brought there: the ticks of a group that is not over drain too.
    #[inline(always)]
    fn left(&self, state: &Level, now: Micros) -> u64 {
        if self.by_groups { state.level } else { self.left_in_group(state, now) }
    }

    #[inline(never)]
    fn left_in_group(&self, state: &Level, now: Micros) -> u64 {
        state.level.saturating_sub(self.drained(self.ticks(state.since, now)))
    }

    /// Until so many of the units have left.
    #[inline]
    fn until_left(&self, state: &Level, now: Micros, units: u64) -> Micros {
        if units == 0 {
            return 0;
        }
        // The clock may be behind the entry; then the wait is longer by that much.
        state.since.wrapping_add(self.time(units)).saturating_sub(now)
    }

    /// The repair of a state that another definition or another clock may have left.
    #[cold]
    fn repair(&self, state: &mut Level, now: Micros) -> bool {
        let mended = self.mended(state, now);
        let repaired = mended.is_some();
        if let Some(Mended::To(mended)) = mended {
            *state = mended;
        }
        state.level = state.level.min(self.most);
        repaired
    }

    /// Has the ticks of a state that has been brought to `now` count from then, where they count from a first charge.
    pub(crate) fn restart(&self, state: &mut Level, now: Micros) {
        if !self.aligned && state.since < now {
            *state = Level { level: self.left(state, now), since: now };
        }
    }

    /// [`next`](Algorithm::next) where it may be known when it is compiled how the level drains.
    #[inline(always)]
    pub(super) fn next_of(&self, by_groups: bool, state: &Level, now: Micros, remaining: u64) -> Micros {
        match remaining.checked_sub(self.quota) {
            // One more has left at the end of this group.
            None if by_groups && state.level <= self.quota => {
                state.since.wrapping_add(self.group.get()).saturating_sub(now)
            }
            None => self.until(state, now, remaining.saturating_add(1)),
            Some(_) => 0,
        }
    }

    /// The most that a group of ticks frees: no tick can free more than an entry holds.
    fn freed(&self) -> u64 {
        self.drain.get().min(self.quota.saturating_mul(self.ticks.get()))
    }

    fn take(&self, state: &mut Level, now: Micros, units: u64) {
        state.level = if self.left(state, now) <= units { 0 } else { state.level.saturating_sub(units) };
    }
}

impl Twin for LevelRule {
    const KIND: u8 = 1;

    fn numbers(&self) -> [f64; 6] {
        let [tick, drain, ticks] = [self.tick, self.drain, self.ticks].map(|number| real(number.get()));
        let aligned = if self.aligned { 1.0 } else { 0.0 };
        [tick, drain, ticks, aligned, real(self.quota), real(self.most.min(EXACT))]
    }
}

impl Stored for Level {
    fn write(&self, numbers: &mut impl Extend<f64>) {
        numbers.extend([self.level, self.since].map(real));
    }

    fn read(numbers: &mut impl Numbers) -> Option<Self> {
        Some(Self { level: numbers.integer()?, since: numbers.integer()? })
    }
}

impl Algorithm for LevelRule {
    type State = Level;

    const RESERVES: bool = true;
    const OBSERVES: bool = true;

    fn fresh(&self, now: Micros) -> Level {
        Level { level: 0, since: self.start(now) }
    }

    #[inline(always)]
    fn advance(&self, state: &mut Level, now: Micros) -> bool {
        // The difference is huge where the state is from the future.
        if now.wrapping_sub(state.since) < self.step.get() && (1..=self.most).contains(&state.level) {
            return false;
        }
        let repaired = (state.since > now || state.level > self.most) && self.repair(state, now);
        let groups = now.saturating_sub(state.since) / self.group;
        let drained = groups.saturating_mul(self.drain.get());
        if drained >= state.level {
            *state = self.fresh(now);
        } else {
            state.level = state.level.saturating_sub(drained);
            state.since = state.since.saturating_add(groups.saturating_mul(self.group.get()));
            if !self.by_groups && self.left_in_group(state, now) == 0 {
                *state = self.fresh(now);
            }
        }
        repaired
    }

    fn mended(&self, state: &Level, now: Micros) -> Option<Mended<Level>> {
        let is_impossible = state.since > now.saturating_add(self.window);
        is_impossible.then(|| Mended::To(Level { since: self.start(now), ..*state }))
    }

    fn is_empty(&self, state: &Level, _now: Micros) -> bool {
        state.level == 0
    }

    fn charge(&self, state: &mut Level, _now: Micros, cost: u64) {
        state.level = state.level.saturating_add(cost);
    }

    fn give_back(&self, state: &mut Level, now: Micros, cost: u64) {
        self.take(state, now, cost);
    }

    fn undo(&self, state: &mut Level, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        // What has left since the charge, of which it may have been the first to go.
        let until_now = self.drained(self.ticks(state.since, now));
        let drained = match state.since.checked_sub(charged_at) {
            None | Some(0) => until_now.saturating_sub(self.drained(self.ticks(state.since, charged_at))),
            Some(before) => until_now.saturating_add(self.drained_at_most(before.div_ceil(self.tick.get()))),
        };
        let units = cost.saturating_sub(spent).min(cost.saturating_sub(drained));
        if units > 0 {
            self.take(state, now, units);
        }
    }

    #[inline]
    fn until(&self, state: &Level, now: Micros, cost: u64) -> Micros {
        let over = state.level.wrapping_add(cost).saturating_sub(self.quota);
        self.until_left(state, now, over)
    }

    #[inline(always)]
    fn fits(&self, state: &Level, now: Micros, cost: u64) -> bool {
        self.left(state, now).wrapping_add(cost) <= self.quota
    }

    fn bears(&self, state: &Level, _now: Micros, cost: u64) -> bool {
        state.level.saturating_add(cost) <= self.most.min(HIGHEST_LEVEL)
    }

    #[inline(always)]
    fn remaining(&self, state: &Level, now: Micros) -> u64 {
        self.quota.saturating_sub(self.left(state, now))
    }

    fn observe(&self, state: &Level, now: Micros, remaining: u64, retry_after: Micros) -> Option<Level> {
        let used = self.quota.saturating_sub(remaining).saturating_sub(self.left(state, now));
        let mut raised = Level { level: state.level.saturating_add(used), ..*state };
        if retry_after > self.until(&raised, now, 1) {
            // The least units above all but one that take until then to drain.
            let time = now.saturating_add(retry_after).saturating_sub(state.since);
            let ticks = time.div_ceil(self.tick.get()).saturating_sub(1);
            let least = self.quota.saturating_add(self.drained(ticks));
            raised.level = raised.level.max(least);
        }
        (raised.level > state.level).then_some(raised)
    }

    #[inline]
    fn full(&self, state: &Level, now: Micros) -> Micros {
        self.until_left(state, now, state.level)
    }

    #[inline(always)]
    fn next(&self, state: &Level, now: Micros, remaining: u64) -> Micros {
        self.next_of(self.by_groups, state, now, remaining)
    }

    #[inline(always)]
    fn drains(&self, state: &Level, _now: Micros) -> Drains {
        Drains { since: state.since, time: LogDuration::of(self.time(state.level)) }
    }

    fn quota(&self) -> u64 {
        self.quota
    }

    fn window(&self) -> Micros {
        self.window
    }

    fn window_ms(&self) -> u64 {
        self.window_ms
    }
}

impl Figures for LevelRule {
    fn burst(&self) -> Option<u64> {
        Some(self.quota)
    }

    fn pace(&self) -> (f64, f64) {
        (real(self.freed()) / real(self.ticks.get()), real(self.tick.get()))
    }

    /// A full entry, and all that ticks free. Ticks that are not aligned begin with a charge: of those that fall into the
    /// span one finds its own unit, or comes when the span is over.
    fn most_in(&self, span: Micros) -> Option<u128> {
        let freed = product(self.freed(), span.div_ceil(self.tick.get()));
        let freed = if self.aligned { freed } else { freed.saturating_sub(1) };
        Some(freed.checked_div(self.ticks.get().into()).unwrap_or(0).saturating_add(self.quota.into()))
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
