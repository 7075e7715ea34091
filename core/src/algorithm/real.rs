//! Between integers and doubles, in as few instructions as will do.

/// A double that is not negative, without its fraction; at most 2^63, because what is signed converts in far fewer
/// instructions.
#[inline]
#[allow(clippy::as_conversions, clippy::cast_possible_truncation, reason = "a cast saturates where it must")]
pub(crate) fn whole(value: f64) -> u64 {
    (value as i64).max(0).cast_unsigned()
}

/// From here on doubles are integers, and the next one has the next bits. So what is added to it is rounded to the nearest
/// integer, in less time than it takes to convert a number and back.
const ALL_INTEGERS: f64 = 4_503_599_627_370_496.0;

/// The integer nearest to a double of at least 0 and below 2^52, and how far the double is above it.
#[inline]
pub(crate) fn nearest(value: f64) -> (u64, f64) {
    let sum = value + ALL_INTEGERS;
    (sum.to_bits().wrapping_sub(ALL_INTEGERS.to_bits()), value - (sum - ALL_INTEGERS))
}

/// A double that is not negative, rounded up to an integer.
#[inline]
pub(crate) fn whole_up(value: f64) -> u64 {
    // What is negative, or no number at all, has larger bits.
    if value.to_bits() >= ALL_INTEGERS.to_bits() {
        return whole(value);
    }
    let (nearest, above) = nearest(value);
    nearest.saturating_add(u64::from(above > 0.0))
}

/// A double that is not negative, rounded down; `f64::floor` is a call where the processor may be an old one.
#[inline]
pub(crate) fn floor(value: f64) -> f64 {
    let nearest = (value + ALL_INTEGERS) - ALL_INTEGERS;
    if value >= ALL_INTEGERS {
        value
    } else if nearest > value {
        nearest - 1.0
    } else {
        nearest
    }
}

/// An integer below 2^53 as a double, which holds it exactly; signed for the same reason.
#[inline]
#[allow(clippy::as_conversions, reason = "exact below 2^53")]
pub(crate) fn real(value: u64) -> f64 {
    value.min(i64::MAX.cast_unsigned()).cast_signed() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn rounding_is_what_the_library_does(value in prop_oneof![0.0..10.0_f64, 0.0..1e9_f64, 0.0..1e18_f64, (0..1000_u32).prop_map(f64::from)]) {
            prop_assert_eq!(floor(value).to_bits(), value.floor().to_bits());
            prop_assert_eq!(whole_up(value), whole(value.ceil()));
        }
    }
}
