//! Counts that decay, and how to find one's way about their logarithms.

use std::num::NonZeroU64;

use super::{Multiples, at_least_one, floor, real, whole};
use crate::time::Micros;

/// A count that is divided by `factor` at each multiple of `resolution`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decay {
    pub(crate) max: u64,
    pub(crate) factor: f64,
    pub(crate) resolution: NonZeroU64,
    pub(crate) multiples: Multiples,
    pub(crate) counts_blocked: bool,
    /// The time that a full count takes to decay to nothing.
    pub(crate) window: Micros,
    /// The slots that halve a count, for a quick first estimate; no decision is made by it.
    slots_per_bit: f64,
    /// The most slots that [`nearly_log2`] is off by.
    near: f64,
    /// The factor of a count's bits, read as an integer, and what is added, for a time within which it has
    /// decayed: a rough logarithm, rounded up.
    drain_slope: f64,
    drain_base: f64,
}

impl Decay {
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
            factor,
            resolution: at_least_one(resolution),
            multiples: Multiples::of(at_least_one(resolution)),
            counts_blocked,
            window: 0,
            slots_per_bit,
            near,
            drain_slope,
            drain_base,
        };
        Self { window: decay.slots_until_nothing(real(max)).saturating_mul(resolution), ..decay }
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
        self.plainly(count, nearly_log2(count), self.near).unwrap_or_else(|| self.slots_until_nothing_exactly(count))
    }

    #[cold]
    fn slots_until_nothing_exactly(&self, count: f64) -> u64 {
        self.plainly(count, count.log2(), ROUNDINGS)
            .unwrap_or_else(|| self.slots_until(|left| left < Self::NOTHING, count, Self::NOTHING))
    }

    /// The same by a logarithm of `count`, where it says so plainly: well between two slots, and few of them, neither
    /// it nor the powers can be that far off.
    #[inline]
    fn plainly(&self, count: f64, log2: f64, near: f64) -> Option<u64> {
        let slots = (log2 - LOG2_NOTHING) * self.slots_per_bit;
        let (passed, part) = (whole(slots), slots - floor(slots));
        let is_plain = count > FAR_FROM_NOTHING && slots < FEW_SLOTS && part > near && part < 1.0 - near;
        is_plain.then_some(passed + 1)
    }

    /// The fewest slots, at least one, after which what is left of `count` is low enough; `about` is how low that is.
    #[inline(never)]
    pub(crate) fn slots_until(&self, low_enough: impl Fn(f64) -> bool, count: f64, about: f64) -> u64 {
        let enough = |slots| low_enough(self.after(count, slots));
        // A rough logarithm says where to look; what counts is found by asking.
        let ratio = roughly_log2(count) - roughly_log2(about.max(Self::NOTHING));
        let mut least = whole(((ratio - LOG2_ERROR) * self.slots_per_bit).floor().max(0.0));
        least = least.min(MOST_SLOTS - 1);
        let mut most = whole(((ratio + LOG2_ERROR) * self.slots_per_bit).ceil().max(1.0)).clamp(least + 1, MOST_SLOTS);
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

/// The logarithm of [`Decay::NOTHING`].
const LOG2_NOTHING: f64 = -20.0;

/// With a count above this and fewer slots than that, `n` slots' power of the factor is off by less than `n` roundings,
/// which is below 2^-21 of a slot.
const FAR_FROM_NOTHING: f64 = 1.0 / 1024.0;
const FEW_SLOTS: f64 = 65_536.0;
const ROUNDINGS: f64 = 1.0 / 65_536.0;

/// A factor barely above 1 may never get there in the range of integers that are exact.
const MOST_SLOTS: u64 = 1 << 52;

/// Twice how far [`roughly_log2`] can be off, and a little.
const LOG2_ERROR: f64 = 0.175;

/// A double's exponent, with its fraction for what comes after the point: its bits, read as an integer of 2^-52.
#[inline]
fn roughly_log2(value: f64) -> f64 {
    let bits = value.to_bits();
    real(bits) * (1.0 / (1_u64 << 52) as f64) - 1023.0
}

/// The largest error of [`nearly_log2`], and a little.
const NEARLY: f64 = 1.6e-5;

/// The logarithm of a double that is a normal number: its exponent, and a polynomial of its fraction.
#[inline]
fn nearly_log2(value: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    let exponent = real(value.to_bits() >> 52) - 1023.0;
    let x = f64::from_bits(value.to_bits() & FRACTION | 1.0_f64.to_bits()) - 1.0;
    let square = x * x;
    let low = 1.441_966 - 0.709_662_8 * x;
    let high = (0.417_595_8 - 0.196_269_6 * x) + 0.046_385_36 * square;
    exponent + x * (low + square * high)
}

/// A power by squaring: products alone, which every machine rounds alike.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left % 2 == 1 {
            result *= square;
        }
        square *= square;
        left /= 2;
    }
    result
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
            let (decay, count) = (Decay::new(10, factor, 1_000_000, false), (1.0 + part) * f64::from(power).exp2());
            let slots = decay.slots_until_nothing(count);
            prop_assert!(decay.after(count, slots) <= 0.0);
            prop_assert!(slots == 1 || decay.after(count, slots - 1) > 0.0);
            prop_assert!(decay.drains_within(count) >= real(slots) * 1_000_000.0);
        }

        #[test]
        fn a_polynomial_is_nearly_the_logarithm(power in -1000_i32..1000, part in 0.0..1.0_f64) {
            let value = (1.0 + part) * f64::from(power).exp2();
            prop_assert!((nearly_log2(value) - value.log2()).abs() < NEARLY);
        }
    }
}
