//! A count for each window of a calendar.

use super::almanac::{Almanac, DAY};
use super::numbers::{Numbers, Stored, Twin};
use super::{Algorithm, Figures, Mended, product, real};
use crate::time::{EXACT, Micros};

/// At most `max` in each window of a time zone's calendar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calendar {
    pub(crate) max: u64,
    pub(crate) almanac: &'static Almanac,
}

impl PartialEq for Calendar {
    fn eq(&self, other: &Self) -> bool {
        self.max == other.max && std::ptr::eq(self.almanac, other.almanac)
    }
}

/// The count of the window in which an instant lies: its start, where the definition that reads it has written it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) count: u64,
    pub(crate) at: Micros,
}

impl Calendar {
    /// The window of an entry that has been brought to now: this one, or the next where the clock went back.
    fn window_of(&self, state: &Counted, now: Micros) -> [Micros; 2] {
        let [_, start, end, after, _] = self.almanac.around(now);
        if state.at < end { [start, end] } else { [end, after] }
    }

    fn left(&self, state: &Counted, now: Micros) -> Micros {
        self.window_of(state, now)[1].saturating_sub(now)
    }
}

impl Twin for Calendar {
    const KIND: u8 = 7;

    fn numbers(&self) -> [f64; 6] {
        [real(self.max), self.almanac.digest(), 0.0, 0.0, 0.0, 0.0]
    }

    #[cfg(feature = "redis")]
    fn numbers_at(&self, now: Micros) -> [f64; 6] {
        let [before, start, end, after, last] = self.almanac.around(now).map(real);
        [real(self.max), before, start, end, after, last]
    }

    /// From the window before this one to the one after it: the next one of each has to be known, too.
    #[cfg(feature = "redis")]
    fn holds(&self, now: Micros) -> Option<[Micros; 2]> {
        let [before, _, _, after, _] = self.almanac.around(now);
        Some([before, after])
    }
}

impl Stored for Counted {
    fn write(&self, numbers: &mut impl Extend<f64>) {
        numbers.extend([self.count, self.at].map(real));
    }

    fn read(numbers: &mut impl Numbers) -> Option<Self> {
        Some(Self { count: numbers.integer()?, at: numbers.integer()? })
    }
}

impl Algorithm for Calendar {
    type State = Counted;

    const RESERVES: bool = false;
    const DRAINS_IN_TURN: bool = false;

    fn fresh(&self, now: Micros) -> Counted {
        Counted { count: 0, at: now }
    }

    fn advance(&self, state: &mut Counted, now: Micros) -> bool {
        let [_, start, _, after, _] = self.almanac.around(now);
        if state.at < start {
            *state = self.fresh(start);
        }
        let is_mended = state.at >= after;
        if is_mended {
            state.at = start;
        }
        is_mended
    }

    fn mended(&self, state: &Counted, now: Micros) -> Option<Mended<Counted>> {
        let [_, start, _, after, _] = self.almanac.around(now);
        (state.at >= after).then_some(Mended::To(Counted { at: start, ..*state }))
    }

    fn is_empty(&self, state: &Counted, _now: Micros) -> bool {
        state.count == 0
    }

    fn charge(&self, state: &mut Counted, now: Micros, cost: u64) {
        if state.count == 0 {
            state.at = self.almanac.around(now)[1];
        }
        state.count = state.count.saturating_add(cost);
    }

    fn give_back(&self, state: &mut Counted, _now: Micros, cost: u64) {
        state.count = state.count.saturating_sub(cost);
    }

    /// All of it, while the window of the charge is the entry's.
    fn undo(&self, state: &mut Counted, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        let [start, end] = self.window_of(state, now);
        if (start..end).contains(&charged_at) {
            state.count = state.count.saturating_sub(cost.saturating_sub(spent));
        }
    }

    fn charged_at(&self, state: &Counted, now: Micros) -> Micros {
        state.at.max(now)
    }

    fn until(&self, state: &Counted, now: Micros, cost: u64) -> Micros {
        if self.fits(state, now, cost) { 0 } else { self.left(state, now) }
    }

    fn fits(&self, state: &Counted, _now: Micros, cost: u64) -> bool {
        state.count.saturating_add(cost) <= self.max
    }

    fn bears(&self, state: &Counted, _now: Micros, cost: u64) -> bool {
        state.count.saturating_add(cost) <= EXACT / 2
    }

    fn remaining(&self, state: &Counted, _now: Micros) -> u64 {
        self.max.saturating_sub(state.count)
    }

    fn full(&self, state: &Counted, now: Micros) -> Micros {
        if state.count == 0 { 0 } else { self.left(state, now) }
    }

    fn quota(&self) -> u64 {
        self.max
    }

    fn window(&self) -> Micros {
        self.almanac.unit().longest()
    }
}

impl Figures for Calendar {
    fn burst(&self) -> Option<u64> {
        Some(self.max)
    }

    fn pace(&self) -> (f64, f64) {
        (real(self.max) * self.almanac.unit().per_day(), real(DAY))
    }

    /// In each window that a span can touch: one more than the shortest windows that fit into it.
    fn most_in(&self, span: Micros) -> Option<u128> {
        let between = span.saturating_sub(2).checked_div(self.almanac.unit().shortest()).unwrap_or(0);
        Some(product(self.max, between.saturating_add(if span > 1 { 2 } else { 1 })))
    }

    fn note(&self) -> Option<&'static str> {
        Some("Each window begins at midnight in its time zone, with a full allowance.")
    }
}
