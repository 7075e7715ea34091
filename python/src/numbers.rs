//! The numbers of an answer in an order of their own, to be pickled, compared and made for tests.

/// `remaining`, `reset_ms`, `full_reset_ms`, `wait_ms`, `next_ms`, `quota`, `window_ms`, `at`.
pub(crate) type Numbers = (u64, u64, u64, u64, u64, u64, u64, u64);

pub(crate) fn numbers(info: &tidegate::LimitInfo) -> Numbers {
    (info.remaining, info.reset_ms, info.full_reset_ms, info.wait_ms, info.next_ms, info.quota, info.window_ms, info.at)
}

pub(crate) fn of_numbers(blocked: bool, degraded: bool, numbers: Numbers) -> tidegate::LimitInfo {
    let mut info = tidegate::LimitInfo::default();
    (info.blocked, info.degraded) = (blocked, degraded);
    (
        info.remaining,
        info.reset_ms,
        info.full_reset_ms,
        info.wait_ms,
        info.next_ms,
        info.quota,
        info.window_ms,
        info.at,
    ) = numbers;
    info
}
