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
    /// The ticks in a millisecond, and the microseconds in 2^32 ticks.
    trusted: u64,
    scale: u64,
}

/// The last time that a thread read from the operating system.
#[derive(Clone, Copy)]
struct Reading {
    ticks: u64,
    now: Micros,
}

impl Reading {
    /// So long ago that it is not used: a processor counts that far in decades.
    const NEVER: Self = Self { ticks: 1 << 63, now: 0 };
}

thread_local! {
    static LAST: Cell<Reading> = const { Cell::new(Reading::NEVER) };
    #[cfg(all(feature = "shm", target_os = "linux"))]
    static LAST_OF_HOST: Cell<Reading> = const { Cell::new(Reading::NEVER) };
}

/// Microseconds since the Unix epoch.
#[inline]
pub(crate) fn now() -> Micros {
    let clock = clock();
    let ticks = clock.ticks.raw();
    let last = LAST.get();
    // Ticks that went backwards wrap around to far more than a millisecond.
    let elapsed = ticks.wrapping_sub(last.ticks);
    if elapsed < clock.trusted {
        return last.now + ((elapsed * clock.scale) >> 32);
    }
    clock.ask(ticks)
}

/// The time since the host was started, which all of its processes read alike; it goes on while the host is suspended.
#[inline]
#[cfg(all(feature = "shm", target_os = "linux"))]
pub(crate) fn since_boot() -> Micros {
    let clock = clock();
    let ticks = clock.ticks.raw();
    let last = LAST_OF_HOST.get();
    let elapsed = ticks.wrapping_sub(last.ticks);
    if elapsed < clock.trusted {
        return last.now + ((elapsed * clock.scale) >> 32);
    }
    let now = crate::boot_clock::since_boot();
    LAST_OF_HOST.set(Reading { ticks, now });
    now
}

/// Measures how fast the processor ticks, once a process: for about a millisecond, and for 200 at the most where the
/// machine is busy. Else the first decision would wait for that.
pub(crate) fn prepare() {
    let _ = clock();
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the one place where clocks are read")]
    fn new() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let (origin, ticks) = (Instant::now(), quanta::Clock::new());
        let scale = ticks.delta_as_nanos(0, 1 << 32) / 1000;
        // A tick longer than a millisecond would be no clock to count with.
        let trusted = 1000_u64.checked_mul(1 << 32).and_then(|millisecond| millisecond.checked_div(scale)).unwrap_or(0);
        Self { origin, epoch: micros(since_epoch), ticks, trusted, scale }
    }

    #[cold]
    fn ask(&self, ticks: u64) -> Micros {
        let now = self.epoch + micros(self.origin.elapsed());
        LAST.set(Reading { ticks, now });
        now
    }
}

#[inline]
fn clock() -> &'static Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    CLOCK.get_or_init(Clock::new)
}

fn micros(duration: Duration) -> Micros {
    Micros::try_from(duration.as_micros()).unwrap_or(Micros::MAX)
}
