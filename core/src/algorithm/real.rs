//! Between integers and doubles, in as few instructions as will do.

use crate::time::EXACT;

/// A double that is not negative, without its fraction; at most 2^63, because what is signed converts in far fewer
/// instructions.
#[inline]
#[allow(clippy::as_conversions, clippy::cast_possible_truncation, reason = "a cast saturates where it must")]
pub(crate) fn whole(value: f64) -> u64 {
    (value as i64).max(0).cast_unsigned()
}

/// A double that is not negative, rounded up to an integer.
pub(crate) fn whole_up(value: f64) -> u64 {
    let below = whole(value);
    below.saturating_add(u64::from(real(below) < value))
}

/// A double that is not negative, rounded down; `f64::floor` is a call where the processor may be an old one.
pub(crate) fn floor(value: f64) -> f64 {
    // From 2^53 on every double is an integer.
    if value < real(EXACT) { real(whole(value)) } else { value }
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
