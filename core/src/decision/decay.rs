//! A count that is divided by a factor at every slot boundary.

use super::numbers::{Numbers, Stored, Twin};
use super::{Algorithm, Drains};
use crate::limit::{Decaying, real, whole};
use crate::log_duration::LogDuration;
use crate::time::{EXACT, Micros};

/// A count as it was in the slot that starts at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Decayed {
    pub(crate) count: f64,
    pub(crate) start: Micros,
}

impl Decaying {
    fn slots_until_empty(&self, count: f64) -> u64 {
        if count < Self::NOTHING { 0 } else { self.slots_until_nothing(count) }
    }

    /// Until so many slot boundaries after the start of the state's own slot have passed; 2^53 us stand for all that is
    /// longer.
    fn until_slot(&self, state: &Decayed, now: Micros, slots: u64) -> Micros {
        let time = slots.saturating_mul(self.resolution.get());
        state.start.saturating_add(time).saturating_sub(now).min(EXACT)
    }

    /// The start of the slot in which an instant lies.
    fn start(&self, at: Micros) -> Micros {
        at.saturating_sub(at % self.resolution)
    }

    /// The number of slots that begin after the first of these starts, up to the second.
    fn slots_between(&self, earlier: Micros, later: Micros) -> u64 {
        later.saturating_sub(earlier) / self.resolution
    }

    /// [`advance`](Algorithm::advance) where it is another slot than the state's own.
    #[inline(never)]
    fn in_another_slot(&self, state: Decayed, now: Micros) -> (Decayed, bool) {
        // Another definition may have left a start that is inside of a slot of this one.
        let (start, from) = (self.start(now), self.start(state.start));
        if from <= start {
            return (Decayed { count: self.after(state.count, self.slots_between(from, start)), start }, false);
        }
        let impossible = self.slots_between(start, from) > self.slots_until_empty(state.count);
        (Decayed { start: if impossible { start } else { from }, ..state }, impossible)
    }

    /// Takes from a count; a trace of it is nothing.
    fn take(state: &mut Decayed, units: f64) {
        let left = state.count - units;
        state.count = if left < Self::NOTHING { 0.0 } else { left };
    }

    fn fits_beside(&self, count: f64, cost: u64) -> bool {
        count + real(cost) <= real(self.max)
    }
}

impl Twin for Decaying {
    const KIND: u8 = 3;

    fn numbers(&self) -> [f64; 6] {
        let counts_blocked = if self.counts_blocked { 1.0 } else { 0.0 };
        [real(self.max), self.factor, real(self.resolution.get()), counts_blocked, 0.0, 0.0]
    }
}

impl Stored for Decayed {
    fn write(&self, numbers: &mut Vec<f64>) {
        numbers.extend([self.count, real(self.start)]);
    }

    fn read(numbers: &mut impl Numbers) -> Option<Self> {
        Some(Self { count: numbers.amount()?, start: numbers.integer()? })
    }
}

impl Algorithm for Decaying {
    type State = Decayed;

    const RESERVES: bool = false;

    fn fresh(&self, now: Micros) -> Decayed {
        Decayed { count: 0.0, start: self.start(now) }
    }

    #[inline(always)]
    fn advance(&self, state: &mut Decayed, now: Micros) -> bool {
        let elapsed = now.checked_sub(state.start);
        if self.multiples.contain(state.start) && elapsed.is_some_and(|elapsed| elapsed < self.resolution.get()) {
            return false;
        }
        let (later, mended) = self.in_another_slot(*state, now);
        *state = later;
        mended
    }

    fn is_empty(&self, state: &Decayed, _now: Micros) -> bool {
        state.count < Self::NOTHING
    }

    fn charge(&self, state: &mut Decayed, _now: Micros, cost: u64) {
        state.count += real(cost);
    }

    fn give_back(&self, state: &mut Decayed, _now: Micros, cost: u64) {
        Self::take(state, real(cost));
    }

    fn undo(&self, state: &mut Decayed, _now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        // What was spent has decayed as the whole has.
        let passed = self.slots_between(self.start(charged_at), state.start);
        let unspent = self.after(real(cost), passed) - self.after(real(spent.min(cost)), passed);
        Self::take(state, unspent);
    }

    fn charged_at(&self, state: &Decayed, now: Micros) -> Micros {
        state.start.max(now)
    }

    #[inline(always)]
    fn until(&self, state: &Decayed, now: Micros, cost: u64) -> Micros {
        if self.fits(state, now, cost) {
            return 0;
        }
        // A large count loses a unit with every slot.
        let slots = if self.fits_beside(self.after_one(state.count), cost) {
            1
        } else {
            let free = real(self.max) - real(cost);
            self.slots_until(|left| self.fits_beside(left, cost), state.count, free)
        };
        self.until_slot(state, now, slots)
    }

    fn fits(&self, state: &Decayed, _now: Micros, cost: u64) -> bool {
        self.fits_beside(state.count, cost)
    }

    fn bears(&self, state: &Decayed, cost: u64) -> bool {
        let count = state.count + real(cost);
        let drain_time = self.slots_until_empty(count).saturating_mul(self.resolution.get());
        count <= real(EXACT / 2) && drain_time <= EXACT
    }

    fn remaining(&self, state: &Decayed, _now: Micros) -> u64 {
        whole((real(self.max) - state.count).max(0.0))
    }

    #[inline(always)]
    fn full(&self, state: &Decayed, now: Micros) -> Micros {
        match self.slots_until_empty(state.count) {
            0 => 0,
            slots => self.until_slot(state, now, slots),
        }
    }

    #[inline(always)]
    fn drains(&self, state: &Decayed, now: Micros) -> Drains {
        Drains { since: now, time: LogDuration::of_real(self.drains_within(state.count)) }
    }

    fn quota(&self) -> u64 {
        self.max
    }

    fn window(&self) -> Micros {
        self.window
    }

    fn counts_blocked(&self) -> bool {
        self.counts_blocked
    }
}
