//! The reasons why nothing is held.

use std::time::Duration;

use crate::Error;
use crate::check::Check;
use crate::info::LimitInfo;

/// The reason why [`Limiter::hold`](crate::Limiter::hold) holds nothing.
///
/// ```
/// use std::time::Duration;
/// use tidegate::{Check, Limit, Limiter, Memory};
///
/// let (limiter, lease) = (Limiter::new(Memory::new()), Duration::from_secs(60));
/// let exports = Limit::concurrency("exports", 1, lease).build()?;
/// let checks = [Check::new(&exports, "ada")];
/// let _held = limiter.hold_checks_sync(&checks, Duration::ZERO)?;
///
/// let error = limiter.hold_checks_sync(&checks, Duration::ZERO).unwrap_err();
/// assert!(error.to_string().starts_with(r#"limit "exports" has no room: retry after "#));
/// assert!(error.retry_after().is_some_and(|time| time <= lease));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HoldError {
    /// There was no room within the longest wait.
    #[error("limit \"{key}\" has no room: retry after {} s", info.reset_ms as f64 / 1000.0)]
    #[non_exhaustive]
    Blocked {
        /// The key of the limit that decided.
        key: Box<str>,
        /// The result of the call.
        info: Box<LimitInfo>,
    },
    /// The call failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl HoldError {
    pub(super) fn blocked(checks: &[Check<'_>], info: LimitInfo) -> Self {
        Self::Blocked { key: info.key(checks).into(), info: Box::new(info) }
    }

    /// The time after which the same call fits at the latest, if it was denied and nothing else happens.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Blocked { info, .. } => Some(Duration::from_millis(info.reset_ms)),
            Self::Failed(_) => None,
        }
    }
}
