//! Counts in slots: a sliding window that is as fine as its slots.

use super::Algorithm;
use super::numbers::Twin;
use super::series::Series;
use crate::limit::{Slots, real};
use crate::time::{EXACT, Micros};

impl Slots {
    /// The start of the first slot that still counts at `now`.
    fn from(&self, now: Micros) -> Micros {
        now.checked_sub(self.period).map_or(0, |past| self.start(past).saturating_add(self.resolution.get()))
    }

    /// The start of the slot in which an instant lies.
    fn start(&self, at: Micros) -> Micros {
        at.saturating_sub(at % self.resolution)
    }

    /// Until the slot in which an instant lies no longer counts.
    fn until_left(&self, at: Micros, now: Micros) -> Micros {
        self.start(at).saturating_add(self.period).saturating_sub(now)
    }

    /// From further ahead than it takes to drain: a clock was wrong.
    pub(super) fn is_impossible(&self, state: &Series, now: Micros) -> bool {
        state.newest().is_some_and(|at| self.start(at) > now.saturating_add(self.period))
    }

    fn count(&self, state: &Series, now: Micros) -> u64 {
        state.count_from(self.from(now))
    }

    /// Rewrites a state in this definition's own slots, and only those that still count.
    fn settle(&self, state: &mut Series, now: Micros) {
        state.align(self.resolution);
        state.keep_from(self.from(now));
    }
}

impl Twin for Slots {
    const KIND: u8 = 5;

    fn numbers(&self) -> [f64; 6] {
        let counts_blocked = if self.counts_blocked { 1.0 } else { 0.0 };
        [real(self.max), real(self.period), real(self.resolution.get()), counts_blocked, 0.0, 0.0]
    }
}

impl Algorithm for Slots {
    type State = Series;

    const RESERVES: bool = false;

    fn fresh(&self, _now: Micros) -> Series {
        Series::default()
    }

    fn advance(&self, state: &mut Series, now: Micros) -> bool {
        let impossible = self.is_impossible(state, now);
        if impossible {
            state.clear();
        }
        impossible
    }

    fn is_empty(&self, state: &Series, now: Micros) -> bool {
        self.full(state, now) == 0
    }

    fn charge(&self, state: &mut Series, now: Micros, cost: u64) {
        let start = self.start(now);
        self.settle(state, now);
        state.push(state.newest().map_or(start, |newest| newest.max(start)), cost);
    }

    fn give_back(&self, state: &mut Series, now: Micros, cost: u64) {
        self.settle(state, now);
        state.take_newest(cost);
    }

    fn undo(&self, state: &mut Series, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        self.settle(state, now);
        let start = self.start(charged_at);
        state.take_between(start, start.saturating_add(self.resolution.get()), cost.saturating_sub(spent));
    }

    fn charged_at(&self, state: &Series, now: Micros) -> Micros {
        state.newest().map_or(now, |newest| newest.max(now))
    }

    fn until(&self, state: &Series, now: Micros, cost: u64) -> Micros {
        state.last_in_the_way(self.from(now), cost, self.max).map_or(0, |at| self.until_left(at, now))
    }

    fn fits(&self, state: &Series, now: Micros, cost: u64) -> bool {
        self.count(state, now).saturating_add(cost) <= self.max
    }

    fn bears(&self, state: &Series, cost: u64) -> bool {
        state.count_from(0).saturating_add(cost) <= EXACT / 2
    }

    fn remaining(&self, state: &Series, now: Micros) -> u64 {
        self.max.saturating_sub(self.count(state, now))
    }

    fn full(&self, state: &Series, now: Micros) -> Micros {
        state.newest().map_or(0, |at| self.until_left(at, now))
    }

    fn quota(&self) -> u64 {
        self.max
    }

    fn window(&self) -> Micros {
        self.period
    }

    fn counts_blocked(&self) -> bool {
        self.counts_blocked
    }
}
