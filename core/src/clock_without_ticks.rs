//! The time of day, read once per decision, where no ticks of a processor can be counted.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::time::Micros;

/// Microseconds since the Unix epoch. In a browser the standard library has no clock, and this panics: decisions there
/// are given their time.
#[expect(clippy::disallowed_methods, reason = "the one place where clocks are read")]
pub(crate) fn now() -> Micros {
    static ORIGIN: OnceLock<(Instant, Duration)> = OnceLock::new();
    let (origin, epoch) =
        ORIGIN.get_or_init(|| (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO)));
    Micros::try_from((*epoch + origin.elapsed()).as_micros()).unwrap_or(Micros::MAX)
}

/// There is nothing to measure.
pub(crate) fn prepare() {}
