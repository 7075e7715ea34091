//! Rules and states as numbers: those that the twins in Lua compute with, and those that stores over a network keep.

#![cfg_attr(not(feature = "remote"), allow(dead_code, reason = "stores in this process keep states as they are"))]

use super::{real, whole};
use crate::time::EXACT;
#[cfg(feature = "redis")]
use crate::time::Micros;

/// A rule whose algorithm stands once more in Lua.
pub(crate) trait Twin {
    /// The number of the algorithm there, which no other has; 0 is that of the layout `sharkey`.
    const KIND: u8;

    /// All that decides how a state drains and what fits into it.
    fn numbers(&self) -> [f64; 6];

    /// The numbers as Lua needs them, which knows no calendar: for decisions at this instant, or near it.
    #[cfg(feature = "redis")]
    fn numbers_at(&self, _now: Micros) -> [f64; 6] {
        self.numbers()
    }

    /// The instants for which [`numbers_at`](Self::numbers_at) this one hold, from the first up to the second; none
    /// where that is always.
    #[cfg(feature = "redis")]
    fn holds(&self, _now: Micros) -> Option<[Micros; 2]> {
        None
    }
}

/// A state that is kept as numbers.
pub(crate) trait Stored: Sized {
    fn write(&self, numbers: &mut impl Extend<f64>);

    /// The state that these numbers are; none if they are not one.
    fn read(numbers: &mut impl Numbers) -> Option<Self>;
}

/// Numbers that a store has kept, one after the other; none where there is no such number.
pub(crate) trait Numbers {
    fn integer(&mut self) -> Option<u64>;

    /// Units, or parts of one.
    fn amount(&mut self) -> Option<f64>;

    /// Runs of a series, each with the units up to itself.
    fn runs(&mut self) -> Option<Vec<(u64, u64)>>;
}

/// Numbers that are read one after the other as doubles.
pub(crate) struct Doubles<I>(pub(crate) I);

impl<I: Iterator<Item = f64>> Numbers for Doubles<I> {
    fn integer(&mut self) -> Option<u64> {
        self.0.next().and_then(integer)
    }

    fn amount(&mut self) -> Option<f64> {
        self.0.next().filter(|number| number.is_finite() && *number >= 0.0)
    }

    /// All that is left, in order of time.
    fn runs(&mut self) -> Option<Vec<(u64, u64)>> {
        let mut runs: Vec<(u64, u64)> = Vec::with_capacity(self.0.size_hint().0 / 2);
        while let Some(at) = self.0.next() {
            let (at, sum) = (integer(at)?, self.integer()?);
            if runs.last().map_or(sum == 0, |before| before.0 >= at || before.1 >= sum) {
                return None;
            }
            runs.push((at, sum));
        }
        Some(runs)
    }
}

#[inline]
fn integer(number: f64) -> Option<u64> {
    let integer = whole(number);
    // An integer is no less than the number that it was rounded down from.
    let is_one = number >= 0.0 && real(integer) >= number && integer <= 2 * EXACT;
    is_one.then_some(integer)
}
