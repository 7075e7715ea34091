//! Logarithms of doubles that are quicker than exact ones, with the bounds of their errors; and powers.

use super::real;

/// Twice how far [`roughly_log2`] can be off, and a little.
pub(super) const LOG2_ERROR: f64 = 0.175;

/// A double's exponent, with its fraction for what comes after the point: its bits, read as an integer of 2^-52.
#[inline]
pub(super) fn roughly_log2(value: f64) -> f64 {
    let bits = value.to_bits();
    real(bits) * (1.0 / real(1 << 52)) - 1023.0
}

/// The largest error of [`nearly_log2_above`], and a little.
pub(super) const NEARLY: f64 = 1.6e-5;

/// The distance of the logarithm of a double, which is a normal number, above another: its exponent, and a polynomial of
/// its fraction in which no sum waits for long.
#[inline]
pub(super) fn nearly_log2_above(other: f64, value: f64) -> f64 {
    const FRACTION: u64 = (1 << 52) - 1;
    let exponent = real(value.to_bits() >> 52) - (1023.0 + other);
    let x = f64::from_bits(value.to_bits() & FRACTION | 1.0_f64.to_bits()) - 1.0;
    let square = x * x;
    let low = 1.441_966 * x - 0.709_662_8 * square;
    let high = (0.417_595_8 - 0.196_269_6 * x) + 0.046_385_36 * square;
    (exponent + low) + square * x * high
}

/// A power by squaring: products alone, which every machine rounds alike.
pub(super) fn power(base: f64, exponent: u64) -> f64 {
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

        #[test]
        fn a_polynomial_is_nearly_the_logarithm(power in -1000_i32..1000, part in 0.0..1.0_f64) {
            let value = (1.0 + part) * f64::from(power).exp2();
            prop_assert!((nearly_log2_above(-20.0, value) - 20.0 - value.log2()).abs() < NEARLY);
        }
    }
}
