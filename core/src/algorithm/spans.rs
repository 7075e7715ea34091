//! Spans of one length since the epoch, one after the other: slots and windows.

use std::num::NonZeroU64;

/// Spans of one length, found without dividing.
///
/// An instant times the inverse of the length, with 63 bits more than the length has, is the number of its span: the
/// inverse is rounded up by less than one part in 2^63, which no instant below 2^62 makes a span of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spans {
    length: NonZeroU64,
    inverse: u64,
    shift: u32,
}

impl Spans {
    pub(super) fn of(length: NonZeroU64) -> Self {
        let shift = length.ilog2();
        let inverse = (1_u128 << (63_u32.saturating_add(shift))).checked_div(length.get().into());
        // At most 2^63, as the length is at least 2^shift.
        let inverse = inverse.and_then(|inverse| u64::try_from(inverse).ok()).unwrap_or(0).saturating_add(1);
        Self { length, inverse, shift }
    }

    #[inline(always)]
    pub(crate) fn length(&self) -> u64 {
        self.length.get()
    }

    /// The start of the span in which an instant lies, which is below 2^62.
    #[inline(always)]
    pub(crate) fn start(&self, at: u64) -> u64 {
        self.number(at).wrapping_mul(self.length.get())
    }

    /// The number of the span in which an instant lies, counted since the epoch.
    #[inline(always)]
    #[expect(clippy::as_conversions, reason = "half of a product")]
    pub(crate) fn number(&self, at: u64) -> u64 {
        // Twice the instant in place of 63 bits: half of a product is at hand, and to shift it takes longer.
        (u128::from(at << 1).wrapping_mul(u128::from(self.inverse)) >> 64) as u64 >> self.shift
    }

    /// The number of spans that begin after an instant, up to a later one; 0 where it is not later.
    pub(crate) fn between(&self, earlier: u64, later: u64) -> u64 {
        self.number(later).saturating_sub(self.number(earlier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 50_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn are_found_as_by_dividing(bits in 0_u32..54, length in 1_u64..(1 << 54), at in 0_u64..(1 << 54), few in 0_u64..8) {
            let length = NonZeroU64::new((length >> bits).max(1)).expect("not 0");
            let spans = Spans::of(length);
            let edge = at - at % length;
            for at in [at, edge, edge.saturating_sub(1), edge + length.get() - 1, edge + length.get(), few, length.get() * few] {
                prop_assert_eq!(spans.number(at), at / length, "{} in spans of {}", at, length);
                prop_assert_eq!(spans.start(at), at - at % length);
            }
        }
    }
}
