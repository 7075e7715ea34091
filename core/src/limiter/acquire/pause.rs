//! Pauses between two questions to a shared store for units that others hold.

use std::time::Duration;

use ahash::RandomState;

/// The first pause and the longest one; each is twice the one before. With the longest one, half of the waiters learn of
/// a release within 50 ms, for 10 to 20 questions a second.
const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(100);

/// The pauses of one call, at random from half of a length up to all of it: processes that wait for the same units
/// should not ask together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl Pause {
    /// The next pause.
    pub(super) fn next(&mut self) -> Duration {
        let length = self.0;
        self.0 = (length * 2).min(LONGEST);
        // 16 bits of a number that is another each time.
        let random = u32::try_from(RandomState::new().hash_one(length) >> 48).unwrap_or_default();
        length / 2 + length / 2 * random / 65_536
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_seldom_the_same() {
        let all: Vec<Vec<Duration>> = (0..100)
            .map(|_| {
                let mut pause = Pause::default();
                (0..8).map(|_| pause.next()).collect()
            })
            .collect();
        for (number, millis) in [10, 20, 40, 80, 100, 100, 100, 100].into_iter().enumerate() {
            let length = Duration::from_millis(millis);
            assert!(all.iter().all(|pauses| (length / 2..length).contains(&pauses[number])));
        }
        assert!(all.iter().any(|pauses| pauses[0] != all[0][0]));
    }
}
