//! Units that are held: each counts until it is released, or its lease is over.

use super::numbers::Twin;
use super::series::Series;
use super::{Algorithm, Figures, Mended, real};
use crate::time::Micros;

/// At most `max` units at once, each held for at most a `lease`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Concurrent {
    pub(crate) max: u64,
    pub(crate) lease: Micros,
}

impl Concurrent {
    /// The first instant that still counts at `now`.
    fn from(&self, now: Micros) -> Micros {
        now.saturating_add(1).saturating_sub(self.lease)
    }

    /// Units were taken in a future that no lease can lie in.
    fn is_impossible(&self, state: &Series, now: Micros) -> bool {
        state.newest().is_some_and(|last| last > now.saturating_add(self.lease))
    }

    fn count(&self, state: &Series, now: Micros) -> u64 {
        state.count_from(self.from(now))
    }
}

impl Twin for Concurrent {
    const KIND: u8 = 8;

    fn numbers(&self) -> [f64; 6] {
        [real(self.max), real(self.lease), 0.0, 0.0, 0.0, 0.0]
    }
}

impl Algorithm for Concurrent {
    type State = Series;

    const RESERVES: bool = false;
    const HOLDS: bool = true;
    const DRAINS_IN_TURN: bool = false;

    fn fresh(&self, _now: Micros) -> Series {
        Series::default()
    }

    fn advance(&self, state: &mut Series, now: Micros) -> bool {
        let impossible = self.is_impossible(state, now);
        if impossible {
            state.bring_back(now);
        }
        impossible
    }

    /// Units that were taken in an impossible future were taken now, so that they are held for a lease at most.
    fn mended(&self, state: &Series, now: Micros) -> Option<Mended<Series>> {
        self.is_impossible(state, now).then(|| {
            let mut mended = state.clone();
            mended.bring_back(now);
            Mended::To(mended)
        })
    }

    fn is_empty(&self, state: &Series, now: Micros) -> bool {
        self.full(state, now) == 0
    }

    fn charge(&self, state: &mut Series, now: Micros, cost: u64) {
        if cost > 0 {
            let instant = self.charged_at(state, now);
            state.keep_from(self.from(now));
            state.push(instant, instant, cost);
        }
    }

    fn give_back(&self, state: &mut Series, now: Micros, cost: u64) {
        if cost > 0 {
            state.keep_from(self.from(now));
            state.take_newest(cost);
        }
    }

    fn undo(&self, state: &mut Series, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        state.keep_from(self.from(now));
        state.take_between(charged_at, charged_at.saturating_add(1), cost.saturating_sub(spent));
    }

    fn holds(&self, state: &Series, now: Micros, cost: u64, charged_at: Micros) -> bool {
        cost == 0 || charged_at >= self.from(now) && state.count_at(charged_at) >= cost
    }

    fn renew(&self, state: &mut Series, now: Micros, cost: u64, charged_at: Micros) {
        let instant = self.charged_at(state, now);
        self.undo(state, now, cost, 0, charged_at);
        state.push(instant, instant, cost);
    }

    fn charged_at(&self, state: &Series, now: Micros) -> Micros {
        state.newest().map_or(now, |last| last.max(now))
    }

    fn until(&self, state: &Series, now: Micros, cost: u64) -> Micros {
        let last = state.last_in_the_way(self.from(now), cost, self.max);
        last.map_or(0, |instant| instant.saturating_add(self.lease).saturating_sub(now))
    }

    fn fits(&self, state: &Series, now: Micros, cost: u64) -> bool {
        self.count(state, now).saturating_add(cost) <= self.max
    }

    fn bears(&self, _state: &Series, _now: Micros, _cost: u64) -> bool {
        true
    }

    fn remaining(&self, state: &Series, now: Micros) -> u64 {
        self.max.saturating_sub(self.count(state, now))
    }

    fn full(&self, state: &Series, now: Micros) -> Micros {
        state.newest().map_or(0, |last| last.saturating_add(self.lease).saturating_sub(now))
    }

    fn quota(&self) -> u64 {
        self.max
    }

    fn window(&self) -> Micros {
        self.lease
    }
}

impl Figures for Concurrent {
    fn burst(&self) -> Option<u64> {
        Some(self.max)
    }

    /// Units that are released at once may be taken again at once.
    fn pace(&self) -> (f64, f64) {
        (0.0, 0.0)
    }

    fn most_in(&self, _span: Micros) -> Option<u128> {
        None
    }

    fn note(&self) -> Option<&'static str> {
        Some("Units are held until they are released or their lease is over: what is bounded is how many at once.")
    }
}
