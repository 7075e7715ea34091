//! The time of day, read once per decision.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::time::Micros;

/// A monotonic clock, anchored to the wall time when the process first asks, so that a stepped system clock changes nothing.
///
/// Asking the operating system costs as much as the rest of a decision. So each thread asks at most once a
/// millisecond, and in between counts the processor's own ticks from there: over so short a span their rate is
/// exact to well below a microsecond, and after a longer one (an idle thread, a suspended machine) they are not used.
struct Clock {
    origin: Instant,
    /// The wall time at `origin`.
    epoch: Micros,
    ticks: quanta::Clock,
}

/// What a thread last heard from the operating system.
#[derive(Clone, Copy)]
struct Reading {
    ticks: u64,
    now: Micros,
}

thread_local! {
    static LAST: Cell<Reading> = const { Cell::new(Reading { ticks: 0, now: 0 }) };
}

/// One millisecond, in nanoseconds.
const TRUSTED: u64 = 1_000_000;

/// Microseconds since the Unix epoch.
#[inline]
pub(crate) fn now() -> Micros {
    let clock = clock();
    let ticks = clock.ticks.raw();
    let last = LAST.get();
    let nanos = clock.ticks.delta_as_nanos(last.ticks, ticks);
    // Ticks that went backwards give 0 here; a thread that has never asked has read 0 microseconds.
    if ticks >= last.ticks && nanos < TRUSTED && last.now > 0 {
        return last.now + nanos / 1000;
    }
    clock.ask(ticks)
}

impl Clock {
    #[cold]
    fn ask(&self, ticks: u64) -> Micros {
        let now = self.epoch + micros(self.origin.elapsed());
        LAST.set(Reading { ticks, now });
        now
    }
}

fn clock() -> &'static Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    CLOCK.get_or_init(|| {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Clock { origin: Instant::now(), epoch: micros(since_epoch), ticks: quanta::Clock::new() }
    })
}

fn micros(duration: Duration) -> Micros {
    Micros::try_from(duration.as_micros()).unwrap_or(Micros::MAX)
}
