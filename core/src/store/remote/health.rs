//! The health of a store, as a check of it found.

use std::time::Duration;

/// The health of a store; see [`Limiter::ping`](crate::Limiter::ping).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Health {
    /// The servers that were tested; none in memory.
    pub servers: Vec<String>,
    /// The time that the slowest of them took to decide.
    pub round_trip: Duration,
    /// The time by which the clock of a server is ahead of this process's, in seconds; negative if it is behind. It has
    /// no effect on decisions, because the server's clock decides.
    pub clock_ahead: f64,
    /// The eviction policy of the first server, where it has one and the user may ask for it.
    pub memory_policy: Option<String>,
    /// Problems, in words, that do not keep calls from being decided.
    pub warnings: Vec<String>,
}

impl Health {
    /// The health of this store and of another server of it.
    pub(crate) fn join(mut self, other: Self) -> Self {
        self.servers.extend(other.servers);
        self.round_trip = self.round_trip.max(other.round_trip);
        if other.clock_ahead.abs() > self.clock_ahead.abs() {
            self.clock_ahead = other.clock_ahead;
        }
        self.memory_policy = self.memory_policy.or(other.memory_policy);
        self.warnings.extend(other.warnings);
        self
    }
}
