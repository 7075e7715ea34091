//! Divisibility without dividing.

use std::num::NonZeroU64;

/// The multiples of a number.
///
/// Times its inverse modulo 2^64, a multiple of an odd number is the quotient, which is small, and anything else is
/// larger than any quotient. An even number is an odd one and a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Multiples {
    inverse: u64,
    shift: u32,
    largest: u64,
}

impl Multiples {
    pub(super) fn of(number: NonZeroU64) -> Self {
        let shift = number.trailing_zeros();
        let odd = number.get() >> shift;
        // Newton's method doubles the bits that are right: three of them at first, 96 in the end.
        let inverse =
            (0..5).fold(odd, |inverse: u64, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))));
        Self { inverse, shift, largest: u64::MAX / number }
    }

    #[inline]
    pub(crate) fn contain(&self, number: u64) -> bool {
        number.wrapping_mul(self.inverse).rotate_right(self.shift) <= self.largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn are_what_leaves_no_remainder(bits in 0_u32..54, number in 1_u64..(1 << 53), of in 0_u64..(1 << 53)) {
            let number = NonZeroU64::new((number >> bits).max(1)).expect("not 0");
            let multiples = Multiples::of(number);
            for of in [of, of - of % number, of - of % number + 1, 0, number.get()] {
                prop_assert_eq!(multiples.contain(of), of % number == 0, "{} of {}", of, number);
            }
        }
    }
}
