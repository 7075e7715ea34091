//! Paced permits.

use super::{whole, whole_up};
use crate::time::{Micros, millis_up};

/// Permits that are stored while idle and paid for when taken; times in microseconds, as doubles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Smooth {
    /// Between two permits at the full rate.
    pub(crate) stable: f64,
    pub(crate) max_permits: f64,
    /// Stored permits above this are cold: each costs more than `stable`, the more the colder.
    pub(crate) threshold: f64,
    pub(crate) slope: f64,
    /// The time that it takes to store one more permit.
    pub(crate) cool: f64,
    pub(crate) warms_up: bool,
    /// The most that a permit costs.
    pub(crate) dearest: f64,
    /// The most permits that are stored, whole ones, and one at the least.
    pub(crate) quota: u64,
    /// The time that it takes to store all that can be stored.
    pub(crate) window: Micros,
    /// The same, as every answer says it.
    pub(crate) window_ms: u64,
}

impl Smooth {
    /// `max_burst` in milliseconds, `warmup` in microseconds.
    pub(crate) fn new(rate: f64, max_burst: f64, warmup: f64, cold_factor: f64) -> Self {
        let stable = 1_000_000.0 / rate;
        if warmup == 0.0 {
            let max_permits = max_burst / 1000.0 * rate;
            return Self {
                stable,
                max_permits,
                threshold: max_permits,
                slope: 0.0,
                cool: stable,
                warms_up: false,
                dearest: stable,
                quota: 0,
                window: 0,
                window_ms: 0,
            }
            .with_sums();
        }
        let cold = stable * cold_factor;
        let threshold = 0.5 * warmup / stable;
        let max_permits = threshold + 2.0 * warmup / (stable + cold);
        let slope = (cold - stable) / (max_permits - threshold);
        let (cool, dearest) = (warmup / max_permits, cold.max(stable));
        let (quota, window, window_ms) = (0, 0, 0);
        Self { stable, max_permits, threshold, slope, cool, warms_up: true, dearest, quota, window, window_ms }
            .with_sums()
    }

    /// The numbers that follow from the others.
    fn with_sums(self) -> Self {
        let window = whole_up(self.max_permits * self.cool);
        Self { quota: whole(self.max_permits).max(1), window, window_ms: millis_up(window), ..self }
    }
}
