//! The log: every charged instant, so that no span of a period ever holds more than the limit.

use super::numbers::Twin;
use super::series::Series;
use super::{Algorithm, Figures, Mended, product, real};
use crate::time::Micros;

/// Every charged instant younger than `period`, of which there may be `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) max: u64,
    pub(crate) period: Micros,
    /// 0 = none.
    pub(crate) min_interval: Micros,
    pub(crate) counts_blocked: bool,
}

impl Log {
    /// The first instant that still counts at `now`.
    fn from(&self, now: Micros) -> Micros {
        now.saturating_add(1).saturating_sub(self.period)
    }

    fn count(&self, state: &Series, now: Micros) -> u64 {
        state.count_from(self.from(now))
    }

    /// Until the interval after the last instant is over.
    fn until_interval(&self, state: &Series, now: Micros) -> Micros {
        match state.newest() {
            Some(last) if self.min_interval > 0 => last.saturating_add(self.min_interval).saturating_sub(now),
            _ => 0,
        }
    }
}

impl Twin for Log {
    const KIND: u8 = 6;

    fn numbers(&self) -> [f64; 6] {
        let counts_blocked = if self.counts_blocked { 1.0 } else { 0.0 };
        [real(self.max), real(self.period), real(self.min_interval), counts_blocked, 0.0, 0.0]
    }
}

impl Algorithm for Log {
    type State = Series;

    const RESERVES: bool = false;
    const DRAINS_IN_TURN: bool = false;

    fn fresh(&self, _now: Micros) -> Series {
        Series::default()
    }

    fn advance(&self, state: &mut Series, now: Micros) -> bool {
        let impossible = self.mended(state, now).is_some();
        if impossible {
            state.clear();
        }
        impossible
    }

    fn mended(&self, state: &Series, now: Micros) -> Option<Mended<Series>> {
        let latest = now.saturating_add(self.window());
        state.newest().is_some_and(|last| last > latest).then_some(Mended::Absent)
    }

    fn is_empty(&self, state: &Series, now: Micros) -> bool {
        self.full(state, now) == 0
    }

    fn charge(&self, state: &mut Series, now: Micros, cost: u64) {
        if cost == 0 {
            return;
        }
        let instant = state.newest().map_or(now, |last| last.max(now));
        state.keep_from(self.from(now));
        // No more are dropped than are added: another definition may need what is more than this one's `max`.
        let most = state.count().max(self.max);
        state.push(instant, instant, cost.min(most));
        state.keep_newest(most);
    }

    fn give_back(&self, state: &mut Series, now: Micros, cost: u64) {
        if cost > 0 {
            // What no longer counts cannot be the last once what came after it is taken back.
            state.keep_from(self.from(now));
            state.take_newest(cost);
        }
    }

    fn undo(&self, state: &mut Series, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        let last = state.newest();
        state.take_between(charged_at, charged_at.saturating_add(1), cost.saturating_sub(spent));
        if state.newest() != last {
            // As when it is given back; but where the last one stays, its interval does.
            state.keep_from(self.from(now));
        }
    }

    fn charged_at(&self, state: &Series, now: Micros) -> Micros {
        state.newest().map_or(now, |last| last.max(now))
    }

    #[inline]
    fn until(&self, state: &Series, now: Micros, cost: u64) -> Micros {
        let last = state.last_in_the_way(self.from(now), cost, self.max);
        let by_count = last.map_or(0, |instant| instant.saturating_add(self.period).saturating_sub(now));
        if cost > 0 { by_count.max(self.until_interval(state, now)) } else { by_count }
    }

    fn fits(&self, state: &Series, now: Micros, cost: u64) -> bool {
        self.count(state, now).saturating_add(cost) <= self.max && (cost == 0 || self.until_interval(state, now) == 0)
    }

    fn bears(&self, _state: &Series, _now: Micros, _cost: u64) -> bool {
        true
    }

    /// The least interval lets all of it pass, or nothing.
    fn room(&self, state: &Series, now: Micros, _at_least: u64) -> u64 {
        if self.until_interval(state, now) == 0 { self.remaining(state, now) } else { 0 }
    }

    fn remaining(&self, state: &Series, now: Micros) -> u64 {
        self.max.saturating_sub(self.count(state, now))
    }

    #[inline]
    fn full(&self, state: &Series, now: Micros) -> Micros {
        let Some(last) = state.newest() else { return 0 };
        last.saturating_add(self.period).saturating_sub(now).max(self.until_interval(state, now))
    }

    fn quota(&self) -> u64 {
        self.max
    }

    fn window(&self) -> Micros {
        self.period.max(self.min_interval)
    }

    fn counts_blocked(&self) -> bool {
        self.counts_blocked
    }
}

impl Figures for Log {
    fn burst(&self) -> Option<u64> {
        Some(if self.min_interval > 0 { 1 } else { self.max })
    }

    fn pace(&self) -> (f64, f64) {
        if real(self.min_interval) * real(self.max) > real(self.period) {
            return (1.0, real(self.min_interval));
        }
        (real(self.max), real(self.period))
    }

    fn most_in(&self, span: Micros) -> Option<u128> {
        let by_count = product(self.max, span.div_ceil(self.period));
        Some(match self.min_interval {
            0 => by_count,
            interval => by_count.min(span.div_ceil(interval).into()),
        })
    }
}
