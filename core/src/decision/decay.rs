//! A count that is divided by a factor at every slot boundary.

use super::{Drains, Room};
use crate::limit::{Decaying, real, whole};
use crate::span::Span;
use crate::time::{EXACT, Micros};

/// A count as it was in a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Decayed {
    pub(crate) count: f64,
    pub(crate) slot: u64,
}

impl Decaying {
    fn slots_until_empty(&self, count: f64) -> u64 {
        if count < Self::NOTHING { 0 } else { self.slots_until_nothing(count) }
    }

    /// Until so many slot boundaries after the state's own slot have passed.
    fn until_slot(&self, state: &Decayed, now: Micros, slots: u64) -> Micros {
        state.slot.saturating_add(slots).saturating_mul(self.resolution.get()).saturating_sub(now)
    }

    /// [`advance`](Room::advance) where it is another slot than the state's own.
    #[inline(never)]
    fn in_another_slot(&self, state: Decayed, now: Micros) -> (Decayed, bool) {
        let slot = now / self.resolution;
        if let Some(passed) = slot.checked_sub(state.slot) {
            return (Decayed { count: self.after(state.count, passed), slot }, false);
        }
        let ahead = state.slot.saturating_sub(slot);
        let impossible = ahead > self.slots_until_empty(state.count);
        (if impossible { Decayed { slot, ..state } } else { state }, impossible)
    }

    fn fits_beside(&self, count: f64, cost: u64) -> bool {
        count + real(cost) <= real(self.max)
    }
}

impl Room for Decaying {
    type State = Decayed;

    const RESERVES: bool = false;

    fn fresh(&self, now: Micros) -> Decayed {
        Decayed { count: 0.0, slot: now / self.resolution }
    }

    #[inline(always)]
    fn advance(&self, state: &mut Decayed, now: Micros) -> bool {
        let start = state.slot.saturating_mul(self.resolution.get());
        if now.checked_sub(start).is_some_and(|elapsed| elapsed < self.resolution.get()) {
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
        state.count = (state.count - real(cost)).max(0.0);
    }

    fn undo(&self, state: &mut Decayed, _now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        // What was spent has decayed as the whole has.
        let passed = state.slot.saturating_sub(charged_at / self.resolution);
        let unspent = self.after(real(cost), passed) - self.after(real(spent.min(cost)), passed);
        state.count = (state.count - unspent).max(0.0);
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
            let room = real(self.max) - real(cost);
            self.slots_until(|left| self.fits_beside(left, cost), state.count, room)
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
        let time = Span::of_real(self.drains_within(state.count));
        Drains { since: now, time, window: time.of_whole(Span::of_real(state.count), Span::of(self.max)) }
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
