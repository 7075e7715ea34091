//! Two windows' counts, the older one weighted by what is left of it.

use std::num::NonZeroU64;

use super::numbers::{Numbers, Stored, Twin};
use super::spans::Spans;
use super::{Algorithm, Drains, Figures, Mended, at_least_one, product, real};
use crate::log_duration::LogDuration;
use crate::time::{EXACT, Micros};

/// The counts of this window and of the one before, weighted in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) max: u64,
    pub(crate) windows: Spans,
    /// The length of a tick in microseconds, and the ticks in a period.
    pub(crate) tick: NonZeroU64,
    pub(crate) ticks: NonZeroU64,
    /// The most that the weighted counts may come to: `max * ticks`.
    pub(crate) capacity: u64,
}

/// The counts of the window in which the last write was, and of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Windows {
    pub(crate) previous: u64,
    pub(crate) current: u64,
    /// The instant of that write, which is in another window where another definition reads it.
    pub(crate) at: Micros,
}

impl Counter {
    pub(crate) fn new(max: u64, period: Micros, tick: Micros) -> Self {
        let (period, tick) = (at_least_one(period), at_least_one(tick));
        let ticks = at_least_one(period.get() / tick);
        Self { max, windows: Spans::of(period), tick, ticks, capacity: max.saturating_mul(ticks.get()) }
    }

    fn start(&self, state: &Windows) -> Micros {
        self.windows.start(state.at)
    }

    /// Whole ticks since the window began; before it began, none.
    #[inline(always)]
    fn elapsed(&self, state: &Windows, now: Micros) -> u64 {
        let elapsed = now.saturating_sub(self.start(state));
        let ticks = if self.tick.get() == 1 { elapsed } else { elapsed / self.tick };
        ticks.min(self.ticks.get())
    }

    /// `count` units over a whole period.
    fn weigh(&self, count: u64) -> u64 {
        count.saturating_mul(self.ticks.get())
    }

    /// The weight of the windows with so much more in the current one.
    #[inline(always)]
    fn used(&self, state: &Windows, now: Micros, more: u64) -> u64 {
        let left = self.ticks.get().saturating_sub(self.elapsed(state, now));
        state.previous.saturating_mul(left).saturating_add(self.weigh(state.current.saturating_add(more)))
    }

    /// Until so many ticks of the window have passed.
    fn until_tick(&self, state: &Windows, now: Micros, tick: u64) -> Micros {
        self.start(state).saturating_add(tick.saturating_mul(self.tick.get())).saturating_sub(now)
    }

    /// The most ticks that a window with this count may have left for its weight to be no more than `free`.
    fn ticks_within(&self, free: u64, count: u64) -> u64 {
        self.weigh(free).checked_div(count).unwrap_or(0)
    }

    /// [`advance`](Algorithm::advance) where it is another window than the state's own.
    #[inline(never)]
    fn in_another_window(&self, state: Windows, now: Micros) -> (Windows, bool) {
        if state.at > now {
            // The clock may be a window behind the entry: then it is the start of that window.
            return match self.mended(&state, now) {
                Some(_) => (self.fresh(now), true),
                None => (state, false),
            };
        }
        match self.windows.between(state.at, now) {
            0 => (state, false),
            1 => (Windows { previous: state.current, current: 0, at: now }, false),
            _ => (self.fresh(now), false),
        }
    }

    /// Until a cost fits that does not fit now.
    #[inline(always)]
    fn until_fits(&self, state: &Windows, now: Micros, cost: u64) -> Micros {
        let ticks = self.ticks.get();
        let tick = if let Some(free) = self.max.checked_sub(cost.saturating_add(state.current)) {
            // The previous window has to fade.
            ticks.saturating_sub(self.ticks_within(free, state.previous))
        } else {
            // This one has to become the previous one, and fade in its turn.
            let left = self.ticks_within(self.max.saturating_sub(cost), state.current);
            ticks.saturating_add(ticks.saturating_sub(left))
        };
        self.until_tick(state, now, tick)
    }
}

impl Twin for Counter {
    const KIND: u8 = 2;

    fn numbers(&self) -> [f64; 6] {
        let [tick, ticks] = [self.tick, self.ticks].map(|number| real(number.get()));
        [real(self.max), real(self.windows.length()), tick, ticks, 0.0, 0.0]
    }
}

impl Stored for Windows {
    fn write(&self, numbers: &mut impl Extend<f64>) {
        numbers.extend([self.previous, self.current, self.at].map(real));
    }

    fn read(numbers: &mut impl Numbers) -> Option<Self> {
        Some(Self { previous: numbers.integer()?, current: numbers.integer()?, at: numbers.integer()? })
    }
}

impl Algorithm for Counter {
    type State = Windows;

    const RESERVES: bool = false;
    const DRAINS_IN_TURN: bool = false;

    fn fresh(&self, now: Micros) -> Windows {
        Windows { at: now, ..Windows::default() }
    }

    #[inline(always)]
    fn advance(&self, state: &mut Windows, now: Micros) -> bool {
        // Nearly always it is this window still. The difference is huge where the window is still to come.
        if now.wrapping_sub(self.start(state)) < self.windows.length() {
            return false;
        }
        let (later, repaired) = self.in_another_window(*state, now);
        *state = later;
        repaired
    }

    fn mended(&self, state: &Windows, now: Micros) -> Option<Mended<Windows>> {
        (self.windows.between(now, state.at) > 1).then_some(Mended::Absent)
    }

    fn is_empty(&self, state: &Windows, _now: Micros) -> bool {
        state.previous == 0 && state.current == 0
    }

    fn charge(&self, state: &mut Windows, now: Micros, cost: u64) {
        state.current = state.current.saturating_add(cost);
        state.at = state.at.max(now);
    }

    fn give_back(&self, state: &mut Windows, now: Micros, cost: u64) {
        state.at = state.at.max(now);
        let rest = cost.saturating_sub(state.current);
        state.current = state.current.saturating_sub(cost);
        state.previous = state.previous.saturating_sub(rest);
    }

    fn undo(&self, state: &mut Windows, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        state.at = state.at.max(now);
        let (charged, unspent) = (self.windows.number(charged_at), cost.saturating_sub(spent));
        match self.windows.number(state.at).checked_sub(charged) {
            Some(0) => state.current = state.current.saturating_sub(unspent),
            Some(1) => state.previous = state.previous.saturating_sub(unspent),
            _ => {}
        }
    }

    fn charged_at(&self, state: &Windows, now: Micros) -> Micros {
        state.at.max(now)
    }

    #[inline(always)]
    fn until(&self, state: &Windows, now: Micros, cost: u64) -> Micros {
        if self.fits(state, now, cost) { 0 } else { self.until_fits(state, now, cost) }
    }

    #[inline(always)]
    fn next(&self, state: &Windows, now: Micros, remaining: u64) -> Micros {
        // One more than what remains does not fit.
        if remaining < self.max { self.until_fits(state, now, remaining.saturating_add(1)) } else { 0 }
    }

    #[inline(always)]
    fn fits(&self, state: &Windows, now: Micros, cost: u64) -> bool {
        self.used(state, now, cost) <= self.capacity
    }

    fn bears(&self, state: &Windows, _now: Micros, cost: u64) -> bool {
        state.current.saturating_add(cost) <= EXACT / 2
    }

    #[inline(always)]
    fn remaining(&self, state: &Windows, now: Micros) -> u64 {
        if state.previous == 0 {
            return self.max.saturating_sub(state.current);
        }
        self.capacity.saturating_sub(self.used(state, now, 0)) / self.ticks
    }

    #[inline(always)]
    fn full(&self, state: &Windows, now: Micros) -> Micros {
        let windows = match (state.previous, state.current) {
            (0, 0) => return 0,
            (_, 0) => 1,
            _ => 2_u64,
        };
        self.start(state).saturating_add(windows.saturating_mul(self.windows.length())).saturating_sub(now)
    }

    #[inline(always)]
    fn drains(&self, state: &Windows, now: Micros) -> Drains {
        Drains { since: now, time: LogDuration::of(self.full(state, now)) }
    }

    fn quota(&self) -> u64 {
        self.max
    }

    fn window(&self) -> Micros {
        self.windows.length()
    }
}

impl Figures for Counter {
    fn burst(&self) -> Option<u64> {
        Some(self.max)
    }

    fn pace(&self) -> (f64, f64) {
        (real(self.max), real(self.windows.length()))
    }

    /// With the window before full at its end, `e` into the next one there is room for `max * e / period`; further back
    /// whole windows may be full. Over all ways to lay a span on windows that makes one `max` and its share of more.
    fn most_in(&self, span: Micros) -> Option<u128> {
        let share = product(self.max, span).checked_div(self.windows.length().into()).unwrap_or(0);
        Some(share.saturating_add(self.max.into()))
    }

    fn note(&self) -> Option<&'static str> {
        Some("It estimates a sliding window from two counts, as if the last window's calls had come evenly.")
    }
}
