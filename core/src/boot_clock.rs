//! The clock of the host.

#![allow(unsafe_code, reason = "the standard library reads no clock that goes on while the host is suspended")]

/// The microseconds since the host was started, also while it was suspended.
pub(crate) fn since_boot() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to the structure that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    let number = |number| u64::try_from(number).unwrap_or(0);
    number(time.tv_sec) * 1_000_000 + number(time.tv_nsec) / 1000
}
