//! Counts in slots: a sliding window that is as fine as its slots.

use super::numbers::Twin;
use super::series::Series;
use super::spans::Spans;
use super::{Algorithm, Figures, Mended, at_least_one, product, real};
use crate::time::{EXACT, Micros};

/// Counts in slots, all of which together may reach `max` within a `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) max: u64,
    pub(crate) period: Micros,
    pub(crate) spans: Spans,
    pub(crate) counts_blocked: bool,
}

impl Slots {
    pub(crate) fn new(max: u64, period: Micros, resolution: Micros, counts_blocked: bool) -> Self {
        Self { max, period, spans: Spans::of(at_least_one(resolution)), counts_blocked }
    }

    /// The start of the first slot that still counts at `now`.
    fn from(&self, now: Micros) -> Micros {
        now.checked_sub(self.period).map_or(0, |past| self.spans.start(past).saturating_add(self.spans.length()))
    }

    /// Until the slot in which an instant lies no longer counts.
    fn until_left(&self, at: Micros, now: Micros) -> Micros {
        self.spans.start(at).saturating_add(self.period).saturating_sub(now)
    }

    /// The number of slots in a row that always count together.
    fn counted(&self) -> u64 {
        self.spans.number(self.period).max(1)
    }

    fn count(&self, state: &Series, now: Micros) -> u64 {
        state.count_from(self.from(now))
    }

    /// Rewrites a state in this definition's own slots, and only those that still count.
    fn settle(&self, state: &mut Series, now: Micros) {
        state.gather(self.spans);
        state.keep_from(self.from(now));
    }
}

impl Twin for Slots {
    const KIND: u8 = 5;

    fn numbers(&self) -> [f64; 6] {
        let counts_blocked = if self.counts_blocked { 1.0 } else { 0.0 };
        [real(self.max), real(self.period), real(self.spans.length()), counts_blocked, 0.0, 0.0]
    }
}

impl Algorithm for Slots {
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
        let latest = now.saturating_add(self.period);
        // A slot starts no later than what lies in it.
        let is_impossible = state.newest().is_some_and(|at| at > latest && self.spans.start(at) > latest);
        is_impossible.then_some(Mended::Absent)
    }

    fn is_empty(&self, state: &Series, now: Micros) -> bool {
        self.full(state, now) == 0
    }

    fn charge(&self, state: &mut Series, now: Micros, cost: u64) {
        self.settle(state, now);
        let instant = state.newest().map_or(now, |newest| newest.max(now));
        state.push(self.spans.start(instant), instant, cost);
    }

    fn give_back(&self, state: &mut Series, now: Micros, cost: u64) {
        self.settle(state, now);
        state.take_newest(cost);
    }

    fn undo(&self, state: &mut Series, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        self.settle(state, now);
        let start = self.spans.start(charged_at);
        state.take_between(start, start.saturating_add(self.spans.length()), cost.saturating_sub(spent));
    }

    fn charged_at(&self, state: &Series, now: Micros) -> Micros {
        state.newest().map_or(now, |newest| newest.max(now))
    }

    #[inline]
    fn until(&self, state: &Series, now: Micros, cost: u64) -> Micros {
        state.last_in_the_way(self.from(now), cost, self.max).map_or(0, |at| self.until_left(at, now))
    }

    #[inline]
    fn fits(&self, state: &Series, now: Micros, cost: u64) -> bool {
        self.count(state, now).saturating_add(cost) <= self.max
    }

    fn bears(&self, state: &Series, now: Micros, cost: u64) -> bool {
        self.count(state, now).saturating_add(cost) <= EXACT / 2
    }

    #[inline]
    fn remaining(&self, state: &Series, now: Micros) -> u64 {
        self.max.saturating_sub(self.count(state, now))
    }

    #[inline]
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

impl Figures for Slots {
    fn burst(&self) -> Option<u64> {
        Some(self.max)
    }

    fn pace(&self) -> (f64, f64) {
        // What is charged in a slot counts for that many whole slots, whatever the period is beyond them.
        (real(self.max), real(self.counted()) * real(self.spans.length()))
    }

    /// Both hold: the slots that a span touches, so many of which never hold more than `max` together; and spans of
    /// `period - resolution`, each of which never does.
    fn most_in(&self, span: Micros) -> Option<u128> {
        let touched = span.div_ceil(self.spans.length()).saturating_add(1);
        let by_slots = touched.div_ceil(self.counted());
        let by_spans = match self.period.saturating_sub(self.spans.length()) {
            0 => by_slots,
            sure => span.div_ceil(sure),
        };
        Some(product(self.max, by_slots.min(by_spans)))
    }
}
