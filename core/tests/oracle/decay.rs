//! A count that is divided at every slot boundary.

use super::{Model, State, Time};

pub(crate) struct Decay {
    pub(crate) max: i128,
    pub(crate) factor: f64,
    pub(crate) resolution: Time,
    pub(crate) counts_blocked: bool,
}

/// 2^-20: less is nothing.
const NOTHING: f64 = 0.000_000_953_674_316_406_25;

impl Decay {
    fn after(&self, count: f64, slots: i128) -> f64 {
        let left = count / power(self.factor, slots);
        if left < NOTHING { 0.0 } else { left }
    }

    /// The fewest slots, at least one, after which what is left is low enough.
    fn slots_until(&self, count: f64, low_enough: impl Fn(f64) -> bool) -> i128 {
        (1..1 << 52).find(|slots| low_enough(self.after(count, *slots))).unwrap_or(1 << 52)
    }

    /// The start of an instant's slot.
    fn start(&self, at: Time) -> Time {
        at / self.resolution * self.resolution
    }

    fn drain_slots(&self, count: f64) -> i128 {
        if count < NOTHING { 0 } else { self.slots_until(count, |left| left == 0.0) }
    }
}

/// By squaring, from the lowest bit of the exponent to the highest.
fn power(base: f64, exponent: i128) -> f64 {
    if exponent == 0 {
        return 1.0;
    }
    let mut square = base;
    let mut result = 1.0;
    for bit in 0..=exponent.ilog2() {
        if exponent >> bit & 1 == 1 {
            result *= square;
        }
        square *= square;
    }
    result
}

impl Model for Decay {
    fn absent(&self, now: Time) -> State {
        State::Decay { count: 0.0, start: self.start(now) }
    }

    fn at(&self, state: &mut State, now: Time) -> bool {
        let State::Decay { count, start } = state else { unreachable!() };
        let (this, from) = (self.start(now), self.start(*start));
        let passed = (this - from) / self.resolution;
        if passed >= 0 {
            (*count, *start) = (self.after(*count, passed), this);
            return false;
        }
        let mended = -passed > self.drain_slots(*count);
        *start = if mended { this } else { from };
        mended
    }

    fn fits(&self, state: &State, _now: Time, cost: i128) -> bool {
        let State::Decay { count, .. } = state else { unreachable!() };
        count + cost as f64 <= self.max as f64
    }

    fn charge(&self, state: &mut State, _now: Time, cost: i128) {
        let State::Decay { count, .. } = state else { unreachable!() };
        *count += cost as f64;
    }

    fn refund(&self, state: &mut State, _now: Time, cost: i128) {
        let State::Decay { count, .. } = state else { unreachable!() };
        let left = *count - cost as f64;
        *count = if left < NOTHING { 0.0 } else { left };
    }

    fn until(&self, state: &State, now: Time, cost: i128) -> Time {
        let State::Decay { count, start } = state else { unreachable!() };
        if self.fits(state, now, cost) {
            return 0;
        }
        let slots = self.slots_until(*count, |left| left + cost as f64 <= self.max as f64);
        start + slots * self.resolution - now
    }

    fn remaining(&self, state: &State, _now: Time) -> i128 {
        let State::Decay { count, .. } = state else { unreachable!() };
        (self.max as f64 - count).floor().max(0.0) as i128
    }

    fn full(&self, state: &State, now: Time) -> Time {
        let State::Decay { count, start } = state else { unreachable!() };
        match self.drain_slots(*count) {
            0 => 0,
            slots => start + slots * self.resolution - now,
        }
    }

    fn is_empty(&self, state: &State, _now: Time) -> bool {
        let State::Decay { count, .. } = state else { unreachable!() };
        *count < NOTHING
    }

    fn most(&self) -> i128 {
        self.max
    }

    fn counts_blocked(&self) -> bool {
        self.counts_blocked
    }

    fn name(&self) -> &'static str {
        "decay"
    }
}
