//! A count that is divided by a factor at every slot boundary.

use super::log2::{LOG2_ERROR, NEARLY, nearly_log2_above, power, roughly_log2};
use super::numbers::{Numbers, Stored, Twin};
use super::spans::Spans;
use super::{Algorithm, Drains, Figures, Mended, at_least_one, nearest, real, whole};
use crate::log_duration::LogDuration;
use crate::time::{EXACT, Micros};

/// The logarithm of [`Decaying::NOTHING`].
const LOG2_NOTHING: f64 = -20.0;

/// With a count above this and fewer slots than that, `n` slots' power of the factor is off by less than `n` roundings,
/// which is below 2^-21 of a slot.
const FAR_FROM_NOTHING: f64 = 1.0 / 1024.0;
const FEW_SLOTS: f64 = 65_536.0;
const ROUNDINGS: f64 = 1.0 / 65_536.0;

/// A factor barely above 1 may never get there in the range of integers that are exact.
const MOST_SLOTS: u64 = 1 << 52;

/// A count that is divided by `factor` at each multiple of a resolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decaying {
    pub(crate) max: u64,
    /// The same, as a number to count with: to convert it each time takes 1 of 53 ns.
    most: f64,
    pub(crate) factor: f64,
    pub(crate) slots: Spans,
    pub(crate) counts_blocked: bool,
    /// The time that a full count takes to decay to nothing.
    pub(crate) window: Micros,
    /// The slots that halve a count, for a quick first estimate; no decision is made by it.
    slots_per_bit: f64,
    /// The most slots that [`nearly_log2_above`] is off by.
    near: f64,
    /// The factor of a count's bits, read as an integer, and what is added, for a time within which it has
    /// decayed: a rough logarithm, rounded up.
    drain_slope: f64,
    drain_base: f64,
}

impl Decaying {
    /// A count below this is nothing.
    pub(crate) const NOTHING: f64 = 1.0 / 1_048_576.0;

    pub(crate) fn new(max: u64, factor: f64, resolution: Micros, counts_blocked: bool) -> Self {
        let slots_per_bit = factor.log2().recip();
        let near = NEARLY * slots_per_bit + ROUNDINGS;
        let time_per_bit = slots_per_bit * real(resolution);
        let drain_slope = time_per_bit / real(1 << 52);
        let drain_base = time_per_bit * (LOG2_ERROR - LOG2_NOTHING - 1023.0) + real(resolution);
        let decay = Self {
            max,
            most: real(max),
            factor,
            slots: Spans::of(at_least_one(resolution)),
            counts_blocked,
            window: 0,
            slots_per_bit,
            near,
            drain_slope,
            drain_base,
        };
        Self { window: decay.slots_until_nothing(decay.most).saturating_mul(resolution), ..decay }
    }

    /// The rest of a count after this many slots.
    pub(crate) fn after(&self, count: f64, slots: u64) -> f64 {
        let left = count / power(self.factor, slots);
        if left < Self::NOTHING { 0.0 } else { left }
    }

    /// [`after`](Self::after) one slot: the first power is the factor itself.
    #[inline]
    pub(crate) fn after_one(&self, count: f64) -> f64 {
        let left = count / self.factor;
        if left < Self::NOTHING { 0.0 } else { left }
    }

    /// No less time than it takes until nothing is left of `count`.
    #[inline]
    pub(crate) fn drains_within(&self, count: f64) -> f64 {
        real(count.to_bits()) * self.drain_slope + self.drain_base
    }

    /// The fewest slots, at least one, after which nothing is left of `count`, which is something.
    #[inline]
    pub(crate) fn slots_until_nothing(&self, count: f64) -> u64 {
        self.plainly(count, nearly_log2_above(LOG2_NOTHING, count), self.near)
            .unwrap_or_else(|| self.slots_until_nothing_exactly(count))
    }

    #[cold]
    fn slots_until_nothing_exactly(&self, count: f64) -> u64 {
        self.plainly(count, count.log2() - LOG2_NOTHING, ROUNDINGS)
            .unwrap_or_else(|| self.slots_until(|left| left < Self::NOTHING, count, Self::NOTHING))
    }

    /// The same by the bits that `count` is above nothing, where they say so plainly: well between two slots, and few of
    /// them, neither they nor the powers can be that far off.
    #[inline]
    fn plainly(&self, count: f64, bits: f64, near: f64) -> Option<u64> {
        let slots = bits * self.slots_per_bit;
        let (nearest, above) = nearest(slots);
        let is_plain = count > FAR_FROM_NOTHING && slots < FEW_SLOTS && above.abs() > near;
        is_plain.then(|| nearest.saturating_add(u64::from(above > 0.0)))
    }

    /// The fewest slots, at least one, after which what is left of `count` is low enough; `about` is how low that is.
    #[inline(never)]
    pub(crate) fn slots_until(&self, low_enough: impl Fn(f64) -> bool, count: f64, about: f64) -> u64 {
        let enough = |slots| low_enough(self.after(count, slots));
        // A rough logarithm says where to look; what counts is found by asking.
        let ratio = roughly_log2(count) - roughly_log2(about.max(Self::NOTHING));
        let mut least = whole(((ratio - LOG2_ERROR) * self.slots_per_bit).floor().max(0.0));
        least = least.min(MOST_SLOTS - 1);
        let mut most = whole(((ratio + LOG2_ERROR) * self.slots_per_bit).ceil().max(1.0))
            .clamp(least.saturating_add(1), MOST_SLOTS);
        while !enough(most) && most < MOST_SLOTS {
            (least, most) = (most, most.saturating_mul(2));
        }
        while least > 0 && enough(least) {
            (least, most) = (least / 2, least);
        }
        // Not enough at `least`, or it is 0; enough at `most`.
        while most.saturating_sub(least) > 1 {
            let middle = least.midpoint(most);
            if enough(middle) { most = middle } else { least = middle }
        }
        most
    }
}

/// A count as it was at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Decayed {
    pub(crate) count: f64,
    /// The instant of the last write.
    pub(crate) at: Micros,
    /// The rest of the count at the instant that it was brought to: it decays from the slot of its write, however
    /// often it is looked at.
    pub(crate) left: f64,
}

impl Decaying {
    fn slots_until_empty(&self, count: f64) -> u64 {
        if count < Self::NOTHING { 0 } else { self.slots_until_nothing(count) }
    }

    /// Until so many slot boundaries after the start of the state's own slot have passed; 2^53 us stand for all that is
    /// longer.
    fn until_slot(&self, state: &Decayed, now: Micros, slots: u64) -> Micros {
        let time = slots.saturating_mul(self.slots.length());
        self.slots.start(state.at).saturating_add(time).saturating_sub(now).min(EXACT)
    }

    /// [`advance`](Algorithm::advance) where it is another slot than the state's own.
    #[inline(never)]
    fn in_another_slot(&self, state: Decayed, now: Micros) -> (Decayed, bool) {
        if state.at > now {
            return match self.mended(&state, now) {
                Some(Mended::To(mended)) => (mended, true),
                _ => (Decayed { left: state.count, ..state }, false),
            };
        }
        (Decayed { left: self.after(state.count, self.slots.between(state.at, now)), ..state }, false)
    }

    /// Writes the count that is left now; a trace of it is nothing.
    fn write(state: &mut Decayed, now: Micros, left: f64) {
        let left = if left < Self::NOTHING { 0.0 } else { left };
        *state = Decayed { count: left, at: state.at.max(now), left };
    }

    /// The units that a slot's end takes off a full count.
    fn lost(&self) -> f64 {
        self.most * (1.0 - 1.0 / self.factor)
    }

    fn fits_beside(&self, count: f64, cost: u64) -> bool {
        count + real(cost) <= self.most
    }
}

impl Twin for Decaying {
    const KIND: u8 = 3;

    fn numbers(&self) -> [f64; 6] {
        let counts_blocked = if self.counts_blocked { 1.0 } else { 0.0 };
        [self.most, self.factor, real(self.slots.length()), counts_blocked, 0.0, 0.0]
    }
}

impl Stored for Decayed {
    fn write(&self, numbers: &mut impl Extend<f64>) {
        numbers.extend([self.count, real(self.at), self.left]);
    }

    fn read(numbers: &mut impl Numbers) -> Option<Self> {
        Some(Self { count: numbers.amount()?, at: numbers.integer()?, left: numbers.amount()? })
    }
}

impl Algorithm for Decaying {
    type State = Decayed;

    const RESERVES: bool = false;

    fn fresh(&self, now: Micros) -> Decayed {
        Decayed { count: 0.0, at: now, left: 0.0 }
    }

    #[inline(always)]
    fn advance(&self, state: &mut Decayed, now: Micros) -> bool {
        // The difference is huge where the slot is still to come.
        if now.wrapping_sub(self.slots.start(state.at)) < self.slots.length() {
            state.left = state.count;
            return false;
        }
        let (later, repaired) = self.in_another_slot(*state, now);
        *state = later;
        repaired
    }

    #[cold]
    fn mended(&self, state: &Decayed, now: Micros) -> Option<Mended<Decayed>> {
        let ahead = self.slots.between(now, state.at);
        let mended = Decayed { at: now, left: state.count, ..*state };
        (ahead > self.slots_until_empty(state.count)).then_some(Mended::To(mended))
    }

    fn is_empty(&self, state: &Decayed, _now: Micros) -> bool {
        state.left < Self::NOTHING
    }

    fn charge(&self, state: &mut Decayed, now: Micros, cost: u64) {
        // A unit is more than a trace.
        let left = state.left + real(cost);
        *state = Decayed { count: left, at: state.at.max(now), left };
    }

    fn give_back(&self, state: &mut Decayed, now: Micros, cost: u64) {
        Self::write(state, now, state.left - real(cost));
    }

    fn undo(&self, state: &mut Decayed, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        // What was spent has decayed as the whole has.
        let passed = self.slots.between(charged_at, state.at.max(now));
        let unspent = self.after(real(cost), passed) - self.after(real(spent.min(cost)), passed);
        Self::write(state, now, state.left - unspent);
    }

    fn charged_at(&self, state: &Decayed, now: Micros) -> Micros {
        state.at.max(now)
    }

    #[inline(always)]
    fn until(&self, state: &Decayed, now: Micros, cost: u64) -> Micros {
        if self.fits(state, now, cost) {
            return 0;
        }
        // A large count loses a unit with every slot; one that has lost nothing yet is of this slot.
        let slots = if state.left >= state.count && self.fits_beside(self.after_one(state.count), cost) {
            1
        } else {
            let free = self.most - real(cost);
            self.slots_until(|left| self.fits_beside(left, cost), state.count, free)
        };
        self.until_slot(state, now, slots)
    }

    fn fits(&self, state: &Decayed, _now: Micros, cost: u64) -> bool {
        self.fits_beside(state.left, cost)
    }

    fn bears(&self, state: &Decayed, _now: Micros, cost: u64) -> bool {
        let count = state.left + real(cost);
        let drain_time = self.slots_until_empty(count).saturating_mul(self.slots.length());
        count <= real(EXACT / 2) && drain_time <= EXACT
    }

    fn remaining(&self, state: &Decayed, _now: Micros) -> u64 {
        whole((self.most - state.left).max(0.0))
    }

    #[inline(always)]
    fn full(&self, state: &Decayed, now: Micros) -> Micros {
        if state.left < Self::NOTHING {
            return 0;
        }
        self.until_slot(state, now, self.slots_until_nothing(state.count))
    }

    #[inline(always)]
    fn drains(&self, state: &Decayed, now: Micros) -> Drains {
        Drains { since: now, time: LogDuration::of_real(self.drains_within(state.left)) }
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

impl Figures for Decaying {
    fn burst(&self) -> Option<u64> {
        Some(self.max)
    }

    fn pace(&self) -> (f64, f64) {
        (self.lost(), real(self.slots.length()))
    }

    /// A full count, and what each slot's end takes off it; the last trace of a count goes at once.
    fn most_in(&self, span: Micros) -> Option<u128> {
        let ends = real(span.div_ceil(self.slots.length()));
        Some(whole(self.most + ends * (self.lost() + Self::NOTHING)).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Agreement of the powers with the logarithm wherever it is relied on.
        #[test]
        fn a_logarithm_that_is_certain_is_right(
            power in -15_i32..40,
            part in prop_oneof![Just(0.0), 0.0..1.0_f64],
            factor in prop_oneof![Just(2.0), Just(4.0), Just(10.0), 1.0001..1.01_f64, 1.01..20.0_f64],
        ) {
            let (decay, count) = (Decaying::new(10, factor, 1_000_000, false), (1.0 + part) * f64::from(power).exp2());
            let slots = decay.slots_until_nothing(count);
            prop_assert!(decay.after(count, slots) <= 0.0);
            prop_assert!(slots == 1 || decay.after(count, slots - 1) > 0.0);
            prop_assert!(decay.drains_within(count) >= real(slots) * 1_000_000.0);
        }
    }
}
