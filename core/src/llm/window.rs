//! The latest numbers of a series, in the order in which they came and in that of their size.

use std::collections::VecDeque;

/// The latest `size` numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    arrived: VecDeque<u64>,
    sorted: Vec<u64>,
}

impl Window {
    /// Adds a number, in place of the oldest one where there are `size` already.
    pub(super) fn add(&mut self, number: u64, size: usize) {
        while self.arrived.len() >= size.max(1) {
            if let Some(oldest) = self.arrived.pop_front() {
                // Equal numbers are alike, so any of them may leave.
                let at = self.sorted.partition_point(|kept| *kept < oldest);
                self.sorted.remove(at);
            }
        }
        let at = self.sorted.partition_point(|kept| *kept < number);
        self.sorted.insert(at, number);
        self.arrived.push_back(number);
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The least number that is at least as large as `percent` of a hundred of them, above 0 and at most 100.
    pub(super) fn percentile(&self, percent: f64) -> Option<u64> {
        let rank = (self.sorted.len() as f64 * percent / 100.0).ceil();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank, from 1 to the length")]
        let rank = (rank as usize).clamp(1, self.sorted.len().max(1));
        self.sorted.get(rank - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Sorting the latest numbers gives the same one.
        #[test]
        fn as_by_sorting(
            numbers in prop::collection::vec(prop_oneof![0..8_u64, 0..=1_u64 << 53], 1..80),
            size in 1..20_usize,
            percent in 1..=100_u32,
        ) {
            let mut window = Window::default();
            for end in 1..=numbers.len() {
                window.add(numbers[end - 1], size);
                let mut latest = numbers[end.saturating_sub(size)..end].to_vec();
                latest.sort_unstable();
                prop_assert_eq!(window.len(), latest.len());
                let least = latest.iter().copied().find(|number| {
                    let covered = latest.iter().filter(|other| *other <= number).count();
                    covered * 100 >= percent as usize * latest.len()
                });
                prop_assert_eq!(window.percentile(f64::from(percent)), least);
            }
        }
    }

    #[test]
    fn of_nothing_there_is_none() {
        assert_eq!(Window::default().percentile(95.0), None);
    }
}
