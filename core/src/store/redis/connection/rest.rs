//! The time for which servers that fail are left alone.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::time::Duration;

const LONGEST_REST: Duration = Duration::from_secs(5);
/// This part of the time for which they have been failing already. So a server that is back after seconds is found at
/// once, and one that is away for minutes is asked seldom.
const REST_PART: u32 = 32;

/// Rests of uneven lengths.
#[derive(Default)]
pub(crate) struct Rests {
    random: RandomState,
    count: u64,
}

impl Rests {
    /// The next rest, after a failure for so long; about `least` or more.
    pub(crate) fn after(&mut self, failing: Duration, least: Duration) -> Duration {
        self.jittered((failing / REST_PART).max(least).min(LONGEST_REST))
    }

    /// Up to a quarter less: those that saw it fail at the same time do not all come back at the same time.
    fn jittered(&mut self, rest: Duration) -> Duration {
        self.count += 1;
        let drawn = u32::try_from(self.random.hash_one(self.count) % 256).unwrap_or(0);
        rest.saturating_sub(rest / 1024 * drawn)
    }
}
