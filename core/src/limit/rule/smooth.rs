//! Paced permits.

use super::whole_up;
use crate::time::Micros;

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
    /// The time that it takes to store all that can be stored.
    pub(crate) window: Micros,
}

impl Smooth {
    /// `max_burst` in milliseconds, `warmup` in microseconds.
    pub(crate) fn new(rate: f64, max_burst: f64, warmup: f64, cold_factor: f64) -> Self {
        let stable = 1_000_000.0 / rate;
        if warmup == 0.0 {
            let max_permits = max_burst / 1000.0 * rate;
            let window = whole_up(max_permits * stable);
            return Self {
                stable,
                max_permits,
                threshold: max_permits,
                slope: 0.0,
                cool: stable,
                warms_up: false,
                dearest: stable,
                window,
            };
        }
        let cold = stable * cold_factor;
        let threshold = 0.5 * warmup / stable;
        let max_permits = threshold + 2.0 * warmup / (stable + cold);
        let slope = (cold - stable) / (max_permits - threshold);
        let cool = warmup / max_permits;
        let (dearest, window) = (cold.max(stable), whole_up(max_permits * cool));
        Self { stable, max_permits, threshold, slope, cool, warms_up: true, dearest, window }
    }
}
