//! The times of an answer as durations.

use std::time::Duration;

use crate::info::LimitInfo;

/// Each of these is one of the fields in milliseconds, as a [`Duration`].
impl LimitInfo {
    /// The time after which to try again: until this same call would be admitted, or after an admitted one until a call
    /// of cost 1 would be. This is [`reset_ms`](Self::reset_ms) as a duration.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::{Limit, Limiter, Memory};
    ///
    /// let limiter = Limiter::new(Memory::new());
    /// let login = Limit::bucket("login", 1).drip_rate(Duration::from_secs(60)).build()?;
    /// assert_eq!(limiter.peek_sync(&login, "ada")?.reset_after(), Duration::ZERO);
    /// limiter.limit_sync(&login, "ada")?;
    ///
    /// let info = limiter.limit_sync(&login, "ada")?;
    /// assert!(info.blocked && info.reset_after() > Duration::from_secs(59));
    /// assert_eq!(info.window(), Duration::from_secs(60));
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    #[must_use]
    pub const fn reset_after(&self) -> Duration {
        Duration::from_millis(self.reset_ms)
    }

    /// The time after which the entry is empty: [`full_reset_ms`](Self::full_reset_ms) as a duration.
    #[must_use]
    pub const fn full_reset_after(&self) -> Duration {
        Duration::from_millis(self.full_reset_ms)
    }

    /// The time after which one unit more remains: [`next_ms`](Self::next_ms) as a duration.
    #[must_use]
    pub const fn next_after(&self) -> Duration {
        Duration::from_millis(self.next_ms)
    }

    /// The time that an `acquire` waits for its turn: [`wait_ms`](Self::wait_ms) as a duration.
    #[must_use]
    pub const fn wait_time(&self) -> Duration {
        Duration::from_millis(self.wait_ms)
    }

    /// The time that a full entry takes to drain: [`window_ms`](Self::window_ms) as a duration.
    #[must_use]
    pub const fn window(&self) -> Duration {
        Duration::from_millis(self.window_ms)
    }
}
