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

    /// The number of an instant's slot.
    fn slot(&self, at: Time) -> i128 {
        at / self.resolution
    }

    /// The rest of a state's count at an instant; where that is before the state's own, all of it.
    fn left(&self, state: &State, now: Time) -> f64 {
        let State::Decay { count, at } = state else { unreachable!() };
        self.after(*count, (self.slot(now) - self.slot(*at)).max(0))
    }

    /// Until so many slot boundaries have passed, counted from the state's own slot.
    fn until_boundary(&self, state: &State, now: Time, slots: i128) -> Time {
        let State::Decay { at, .. } = state else { unreachable!() };
        (self.slot(*at) + slots) * self.resolution - now
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
        State::Decay { count: 0.0, at: now }
    }

    fn mended(&self, state: &State, now: Time) -> Option<State> {
        let State::Decay { count, at } = state else { unreachable!() };
        let ahead = self.slot(*at) - self.slot(now);
        (ahead > self.drain_slots(*count)).then_some(State::Decay { count: *count, at: now })
    }

    fn fits(&self, state: &State, now: Time, cost: i128) -> bool {
        self.left(state, now) + cost as f64 <= self.max as f64
    }

    fn charge(&self, state: &mut State, now: Time, cost: i128) {
        let left = self.left(state, now);
        let State::Decay { count, at } = state else { unreachable!() };
        (*count, *at) = (left + cost as f64, (*at).max(now));
    }

    fn refund(&self, state: &mut State, now: Time, cost: i128) {
        let left = self.left(state, now) - cost as f64;
        let State::Decay { count, at } = state else { unreachable!() };
        (*count, *at) = (if left < NOTHING { 0.0 } else { left }, (*at).max(now));
    }

    fn until(&self, state: &State, now: Time, cost: i128) -> Time {
        if self.fits(state, now, cost) {
            return 0;
        }
        let State::Decay { count, .. } = state else { unreachable!() };
        let slots = self.slots_until(*count, |left| left + cost as f64 <= self.max as f64);
        self.until_boundary(state, now, slots)
    }

    fn remaining(&self, state: &State, now: Time) -> i128 {
        (self.max as f64 - self.left(state, now)).floor().max(0.0) as i128
    }

    fn full(&self, state: &State, now: Time) -> Time {
        let State::Decay { count, .. } = state else { unreachable!() };
        if self.left(state, now) == 0.0 { 0 } else { self.until_boundary(state, now, self.drain_slots(*count)) }
    }

    fn is_empty(&self, state: &State, now: Time) -> bool {
        self.left(state, now) == 0.0
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
