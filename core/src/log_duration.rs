//! A duration in ten bits.

use crate::time::{EXACT, Micros};

/// A duration rounded up by at most an eighth: the exponent of a float and the first four bits of its fraction, which
/// the processor finds in a few instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogDuration(u64);

/// The bits of a fraction that are dropped.
const DROPPED: u32 = 23 - 4;
/// The stored form of the number 1.
const ONE: u32 = 127 << 4;
const LARGEST: u64 = (1 << LogDuration::BITS) - 1;

impl LogDuration {
    pub(crate) const BITS: u32 = 10;

    /// 0 counts as 1, and what is above 2^53 as that.
    #[inline]
    pub(crate) fn of(duration: Micros) -> Self {
        Self(u64::from((float(duration.min(EXACT) | 1).to_bits() >> DROPPED) + 1 - ONE))
    }

    /// Of a duration that is not negative.
    #[inline]
    pub(crate) const fn of_real(duration: f64) -> Self {
        const DROPPED: u32 = 52 - 4;
        let kept = ((duration.to_bits() >> DROPPED) + 1).saturating_sub(1023 << 4);
        Self(if kept < LARGEST { kept } else { LARGEST })
    }

    #[inline]
    pub(crate) const fn to_bits(self) -> u64 {
        self.0
    }

    /// The lowest bits of a number.
    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits & LARGEST)
    }

    /// The fraction behind its leading one, at the top, and from there down by what the exponent lacks.
    pub(crate) const fn duration(self) -> Micros {
        ((16 | self.0 & 15) << 59) >> (63 - (self.0 >> 4))
    }
}

/// Rounding loses less than the duration is rounded up by. What is signed converts in one instruction.
#[inline]
fn float(number: u64) -> f32 {
    number.cast_signed() as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rounds_up_by_at_most_an_eighth(exponent in 0_u32..53, rest in 0_u64..(1 << 53)) {
            let duration = (1 << exponent) + rest % (1 << exponent);
            let rounded = LogDuration::of(duration);
            prop_assert_eq!(LogDuration::from_bits(rounded.to_bits()), rounded);
            prop_assert!(rounded.duration() >= duration);
            prop_assert!(rounded.duration() <= duration + duration / 8 + 1);
            let real = LogDuration::of_real(crate::algorithm::real(duration)).duration();
            prop_assert!(real >= duration && real <= duration + duration / 8 + 1);
        }
    }

    #[test]
    fn the_stored_form_is_an_exponent_and_four_bits_of_a_fraction() {
        for bits in 0..=LARGEST {
            let exact = (u128::from(16 + bits % 16) << (bits / 16)) / 16;
            assert_eq!(u128::from(LogDuration::from_bits(bits).duration()), exact, "{bits}");
        }
    }
}
