//! Instants and durations: integer microseconds.

use std::time::Duration;

/// Microseconds: a duration, or an instant since the Unix epoch.
pub type Micros = u64;

/// Every number that crosses into Lua or JavaScript stays below this, where doubles hold integers exactly.
pub(crate) const EXACT: u64 = 1 << 53;

/// 100 years, the longest that a full entry may take to drain.
pub(crate) const LONGEST: Micros = 36_525 * 86_400 * 1_000_000;

/// Whole milliseconds, rounded up.
pub(crate) const fn millis_up(micros: Micros) -> u64 {
    // Cheaper than `div_ceil`, and no time of ours comes near the end of the range, so that the sum does not wrap.
    micros.wrapping_add(999) / 1000
}

/// A duration as the wire form writes it, in milliseconds.
pub(crate) fn wire_millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
