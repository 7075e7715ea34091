//! The block of a limit: it stands beside the limit's own state, and denies every call while it is closed.
//!
//! To the calls it is an algorithm of its own. Every cost fits while it is open, none while it is closed, and a charge
//! closes it. Nothing drains, so giving back changes nothing.

use super::numbers::{Numbers, Stored, Twin};
use super::{Algorithm, Figures, Mended, floor, real, whole};
use crate::info::UNLIMITED;
use crate::time::Micros;

/// Closed for a time after a refusal; longer, where it grows, if the last block is not over for its own length yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) length: Micros,
    /// At least 1.
    pub(crate) growth: f64,
    pub(crate) longest: Micros,
}

/// The last block: the instant until which it closes, and its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Blocked {
    pub(crate) until: Micros,
    pub(crate) length: Micros,
}

impl Block {
    fn grows(&self) -> bool {
        self.growth > 1.0
    }

    /// The instant from which on nothing depends on this block.
    fn forgotten_at(&self, state: &Blocked) -> Micros {
        if self.grows() { state.until.saturating_add(state.length) } else { state.until }
    }

    /// The length that the next block grows from; 0 where it does not.
    fn counted(&self, state: &Blocked, now: Micros) -> Micros {
        if self.grows() && now < self.forgotten_at(state) { state.length } else { 0 }
    }

    /// Closes it for the next length.
    fn close(&self, state: &mut Blocked, now: Micros) {
        let grown = floor(real(self.counted(state, now)) * self.growth);
        let length = self.length.max(whole(grown.min(real(self.longest))));
        *state = Blocked { until: now.saturating_add(length), length };
    }

    /// Closes it for this time, unless it is closed for longer; 0 opens it, and forgets its length. False if it stays as
    /// it was.
    pub(crate) fn close_for(&self, state: &mut Blocked, now: Micros, time: Micros) -> bool {
        let until = now.saturating_add(time);
        if time > 0 && until < state.until {
            return false;
        }
        *state = match time {
            0 => Blocked::default(),
            _ => Blocked { until, length: time.max(self.counted(state, now)) },
        };
        true
    }
}

impl Twin for Block {
    const KIND: u8 = 9;

    fn numbers(&self) -> [f64; 6] {
        [real(self.length), self.growth, real(self.longest), 0.0, 0.0, 0.0]
    }
}

impl Stored for Blocked {
    fn write(&self, numbers: &mut impl Extend<f64>) {
        numbers.extend([self.until, self.length].map(real));
    }

    fn read(numbers: &mut impl Numbers) -> Option<Self> {
        Some(Self { until: numbers.integer()?, length: numbers.integer()? })
    }
}

impl Algorithm for Block {
    type State = Blocked;

    const RESERVES: bool = false;
    const DRAINS_IN_TURN: bool = false;

    fn fresh(&self, _now: Micros) -> Blocked {
        Blocked::default()
    }

    /// The end of a block that is further ahead than its length: the clock went back.
    fn advance(&self, state: &mut Blocked, now: Micros) -> bool {
        let latest = now.saturating_add(state.length);
        let impossible = state.until > latest;
        if impossible {
            state.until = latest;
        }
        impossible
    }

    fn mended(&self, state: &Blocked, now: Micros) -> Option<Mended<Blocked>> {
        let mut mended = *state;
        self.advance(&mut mended, now).then_some(Mended::To(mended))
    }

    fn is_empty(&self, state: &Blocked, now: Micros) -> bool {
        self.full(state, now) == 0
    }

    fn charge(&self, state: &mut Blocked, now: Micros, _cost: u64) {
        self.close(state, now);
    }

    fn give_back(&self, _state: &mut Blocked, _now: Micros, _cost: u64) {}

    fn undo(&self, _state: &mut Blocked, _now: Micros, _cost: u64, _spent: u64, _charged_at: Micros) {}

    /// It does not hinder who holds something already.
    fn holds(&self, _state: &Blocked, _now: Micros, _cost: u64, _charged_at: Micros) -> bool {
        true
    }

    fn until(&self, state: &Blocked, now: Micros, cost: u64) -> Micros {
        if cost > 0 { state.until.saturating_sub(now) } else { 0 }
    }

    fn fits(&self, state: &Blocked, now: Micros, cost: u64) -> bool {
        cost == 0 || now >= state.until
    }

    fn bears(&self, _state: &Blocked, _now: Micros, _cost: u64) -> bool {
        true
    }

    fn remaining(&self, state: &Blocked, now: Micros) -> u64 {
        if now < state.until { 0 } else { UNLIMITED }
    }

    fn full(&self, state: &Blocked, now: Micros) -> Micros {
        self.forgotten_at(state).saturating_sub(now)
    }

    fn quota(&self) -> u64 {
        UNLIMITED
    }

    fn largest_cost(&self) -> u64 {
        u64::MAX
    }

    fn window(&self) -> Micros {
        self.longest.saturating_mul(if self.grows() { 2 } else { 1 })
    }
}

impl Figures for Block {
    fn burst(&self) -> Option<u64> {
        None
    }

    fn pace(&self) -> (f64, f64) {
        (0.0, 0.0)
    }

    fn most_in(&self, _span: Micros) -> Option<u128> {
        None
    }
}
