//! The reasons for which a store does not decide a call.

use std::fmt;

/// The reason for which a store did not decide a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Failure {
    /// No answer by the deadline. The server's script does nothing once the deadline is past.
    Timeout,
    /// The circuit breaker is open: the server failed lately, and gets no calls until a probe is answered.
    Unavailable,
    /// No connection could be made.
    Unreachable,
    /// The connection broke before the answer came, so the call may have been charged or not.
    Disconnected,
    /// The server is not ready: it loads its data, runs a long script, or its cluster is down. Or no node of the cluster has
    /// the slot.
    NotReady,
    /// The server is a replica, or was made one.
    ReadOnly,
    /// The server's memory is full and it may not evict.
    OutOfMemory,
    /// The server refuses this user or this command: access is denied, or the command does not exist.
    Denied,
    /// The slot is being moved, and was until the deadline; or a server redirects to a node that its cluster does not have.
    Moving,
    /// Fewer replicas than were asked for had the charge by the deadline. The charge stays on the primary.
    Unreplicated,
    /// Any other error of the server, or an answer that makes no sense.
    Other,
}

impl Failure {
    /// Every failure there is.
    #[doc(hidden)]
    pub const ALL: [Self; 11] = [
        Self::Timeout,
        Self::Unavailable,
        Self::Unreachable,
        Self::Disconnected,
        Self::NotReady,
        Self::ReadOnly,
        Self::OutOfMemory,
        Self::Denied,
        Self::Moving,
        Self::Unreplicated,
        Self::Other,
    ];

    /// A short name, for metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::Unreachable => "unreachable",
            Self::Disconnected => "disconnected",
            Self::NotReady => "not-ready",
            Self::ReadOnly => "read-only",
            Self::OutOfMemory => "out-of-memory",
            Self::Denied => "denied",
            Self::Moving => "moving",
            Self::Unreplicated => "unreplicated",
            Self::Other => "other",
        }
    }

    /// True if the server may have charged the call all the same, so that a call that must not be made twice counts as
    /// made.
    #[must_use]
    pub const fn may_have_happened(self) -> bool {
        matches!(self, Self::Timeout | Self::Disconnected | Self::Unreplicated | Self::Other)
    }

    pub(crate) fn index(self) -> usize {
        Self::ALL.iter().position(|fault| *fault == self).unwrap_or(0)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no answer in time",
            Self::Unavailable => "the circuit breaker is open",
            Self::Unreachable => "no connection",
            Self::Disconnected => "the connection broke",
            Self::NotReady => "not ready",
            Self::ReadOnly => "read only",
            Self::OutOfMemory => "out of memory",
            Self::Denied => "access denied",
            Self::Moving => "the slot is being moved",
            Self::Unreplicated => "charged, but too few replicas have it in time",
            Self::Other => "an unexpected answer",
        })
    }
}
