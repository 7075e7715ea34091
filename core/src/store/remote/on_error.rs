//! The answer to a call that the store cannot decide.

use crate::algorithm::Rule;
use crate::info::LimitInfo;
use crate::names::named;
use crate::time::millis_up;

/// The answer to a call that the store cannot decide.
///
/// ```
/// use tidegate::remote::OnError;
///
/// assert_eq!("allow".parse(), Ok(OnError::Allow));
/// assert_eq!(OnError::default().to_string(), "local");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnError {
    /// This process alone enforces the limit, in memory and at its full size, until the store answers again.
    #[default]
    Local,
    /// Every call is admitted.
    Allow,
    /// Every call is denied, for a second.
    Deny,
    /// The call fails with a [`StoreError`](crate::StoreError).
    Raise,
}

named!(OnError, "onError", Local = "local", Allow = "allow", Deny = "deny", Raise = "raise");

/// The time for which a call is denied that cannot be decided.
const DENIED_FOR_MS: u64 = 1000;

impl Rule {
    /// The answer to a call that is admitted whatever was charged before.
    pub(crate) fn allowed(&self) -> LimitInfo {
        let mut info = LimitInfo::unlimited();
        (info.quota, info.remaining, info.window_ms) = (self.quota(), self.quota(), millis_up(self.window()));
        info
    }

    /// The answer to a call that is denied whatever was charged before.
    pub(crate) fn denied(&self) -> LimitInfo {
        let mut info = LimitInfo { blocked: true, remaining: 0, ..self.allowed() };
        (info.reset_ms, info.full_reset_ms, info.next_ms) = (DENIED_FOR_MS, DENIED_FOR_MS, DENIED_FOR_MS);
        info
    }
}
