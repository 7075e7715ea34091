//! One entry in 32 bytes, of which two share a cache line.

use crate::decision::{Drains, Level};
use crate::fingerprint::Fingerprint;
use crate::time::Micros;

/// Half of the clock's range that fits beside ten bits of something else.
const NUMBER: u64 = (1 << 53) - 1;
const FLAG: u64 = 1 << 63;

/// Whose clock an entry's instants are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timeline {
    /// The process's own.
    Real,
    /// The caller's, who gave `now`: it says nothing about when the entry may be dropped.
    Given,
}

/// What a table has to know about an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    pub(super) drains: Drains,
    pub(super) timeline: Timeline,
}

impl Drain {
    /// How much of a full entry is left at this instant.
    pub(super) fn fullness(&self, now: Micros) -> f64 {
        let Drains { since, time, window } = self.drains;
        (since.saturating_add(time)).saturating_sub(now) as f64 / window.max(1) as f64
    }
}

/// A fingerprint, and an entry's two numbers with what the table has to know tucked into the bits that numbers below
/// 2^53 leave free.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Slot {
    pub(super) fingerprint: u128,
    /// A cell's level less one, or another entry's place at the side, in the low 53 bits; then the drain time as a
    /// [`span`]; then whether the entry is at the side.
    level: u64,
    /// A cell's start of ticks, or else when it was written, in the low 53 bits; then the window as a [`span`]; then
    /// whether the timeline is given.
    since: u64,
}

/// Where an entry's state is.
pub(super) enum Kept {
    /// In the slot itself.
    Here(Level),
    /// At the side, for what does not fit into two numbers below 2^53.
    Aside(usize),
}

impl Slot {
    /// Larger than every fingerprint, so that a search for one stops here.
    pub(super) const VACANT: Self = Self { fingerprint: u128::MAX, level: 0, since: 0 };

    #[expect(clippy::inline_always, reason = "most of it is known where it is called")]
    #[inline(always)]
    pub(super) fn new(fingerprint: Fingerprint, kept: &Kept, drain: Drain) -> Self {
        let (number, aside) = match kept {
            Kept::Here(level) => (level.level - 1, 0),
            Kept::Aside(place) => (*place as u64, FLAG),
        };
        let Drains { since, time, window } = drain.drains;
        let given = if drain.timeline == Timeline::Given { FLAG } else { 0 };
        Self {
            fingerprint: fingerprint.0,
            level: number & NUMBER | span::pack(time) << 53 | aside,
            since: since & NUMBER | span::pack(window) << 53 | given,
        }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "a place at the side was an index before")]
    pub(super) fn kept(&self) -> Kept {
        let number = self.level & NUMBER;
        if self.level & FLAG == 0 {
            Kept::Here(Level { level: number + 1, since: self.since & NUMBER })
        } else {
            Kept::Aside(number as usize)
        }
    }

    #[inline]
    pub(super) fn is_vacant(&self) -> bool {
        self.fingerprint == u128::MAX
    }

    pub(super) fn timeline(&self) -> Timeline {
        if self.since & FLAG == 0 { Timeline::Real } else { Timeline::Given }
    }

    /// How long the entry takes to drain from its `since`, rounded up by at most an eighth.
    pub(super) fn drain_time(&self) -> Micros {
        span::unpack(self.level >> 53 & span::BITS)
    }

    /// When the entry is empty, rounded up.
    pub(super) fn empty_at(&self) -> Micros {
        (self.since & NUMBER).saturating_add(self.drain_time())
    }

    /// How much of a full entry is left at this instant: 0 when drained, 1 when full, above 1 when overfull.
    pub(super) fn fullness(&self, now: Micros, timeline: Timeline) -> f64 {
        let left = if self.timeline() == timeline { self.empty_at().saturating_sub(now) } else { self.drain_time() };
        left as f64 / span::unpack(self.since >> 53 & span::BITS) as f64
    }
}

/// A duration in ten bits, rounded up by at most an eighth: the exponent of a float and the first four bits of its
/// fraction, which the processor finds in a few instructions.
mod span {
    use crate::time::Micros;

    pub(super) const BITS: u64 = (1 << 10) - 1;
    /// The bits of a fraction that are dropped.
    const DROPPED: u32 = 23 - 4;
    /// What is kept of the number 1.
    const ONE: u32 = 127 << 4;

    #[inline]
    pub(super) fn pack(duration: Micros) -> u64 {
        let duration = i64::try_from(duration).unwrap_or(i64::MAX).max(1);
        #[expect(clippy::cast_precision_loss, reason = "it is rounded up by more than is lost")]
        let kept = (duration as f32).to_bits() >> DROPPED;
        u64::from(kept + 1 - ONE)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ten bits of a number above 1")]
    pub(super) fn unpack(bits: u64) -> Micros {
        f32::from_bits((bits as u32 + ONE) << DROPPED) as Micros
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use proptest::prelude::*;

        proptest! {
            #[test]
            fn rounds_up_by_at_most_an_eighth(exponent in 0_u32..54, rest in 0_u64..(1 << 53)) {
                let duration = (1 << exponent) + rest % (1 << exponent);
                let packed = pack(duration);
                prop_assert!(packed <= BITS);
                prop_assert!(unpack(packed) >= duration);
                prop_assert!(unpack(packed) <= duration + duration / 8 + 1);
            }
        }
    }
}
