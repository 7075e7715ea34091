//! The numbers that explain a rule. Everything is counted in calls of cost 1.

use super::Algorithm;
use crate::time::Micros;

/// The numbers of one kind of rule: how much at once, how much in the long run, how much in a span at worst.
pub(crate) trait Figures: Algorithm {
    /// The most calls at one instant.
    fn burst(&self) -> Option<u64>;

    /// The long run: no more than so many calls in so many microseconds.
    fn pace(&self) -> (f64, f64);

    /// The most calls in any span this long. A span is half open: its very end belongs to the next.
    fn most_in(&self, span: Micros) -> Option<u128>;

    /// A note on what the numbers do not show.
    fn note(&self) -> Option<&'static str> {
        self.counts_blocked().then_some("Denied attempts are charged too, so that only a pause helps.")
    }
}

/// A product that cannot overflow.
pub(crate) fn product(one: u64, other: u64) -> u128 {
    u128::from(one).saturating_mul(other.into())
}
