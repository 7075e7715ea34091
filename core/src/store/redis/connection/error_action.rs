//! The meaning of a server's error for a call and for its connection.

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::failure::Failure;
use crate::store::redis::advice::is_refused;

/// A cluster that is down says so in other words.
const NO_OWNER: &str = "Hash slot not served";

/// The action to take on an error of the server.
#[derive(Clone, Debug)]
pub(crate) enum ErrorAction {
    /// The script is not known there (any more), and nothing was done: send it along.
    SendScript,
    /// Another server is in charge of the slot, for good or for this once; nothing was done.
    Redirect {
        to: (String, u16),
        asking: bool,
    },
    /// Nothing was done; a moment later it may be.
    Retry,
    /// No server has the slot, and nothing was done; this one decides about others.
    NoOwner,
    GiveUp(Failure),
}

impl ErrorAction {
    pub(crate) fn of(error: &RedisError) -> Self {
        if error.is_connection_refusal() {
            return Self::GiveUp(Failure::Unreachable);
        }
        let ErrorKind::Server(kind) = error.kind() else {
            return Self::GiveUp(match error.kind() {
                ErrorKind::AuthenticationFailed => Failure::Denied,
                ErrorKind::Io if error.is_timeout() => Failure::Timeout,
                ErrorKind::Io => Failure::Disconnected,
                ErrorKind::MasterNameNotFoundBySentinel => Failure::Unreachable,
                _ => failure_of_code(error.code()),
            });
        };
        let redirect = |asking| match redirected(error) {
            Some(to) => Self::Redirect { to, asking },
            None => Self::GiveUp(Failure::Other),
        };
        match kind {
            ServerErrorKind::NoScript => Self::SendScript,
            ServerErrorKind::Moved => redirect(false),
            ServerErrorKind::Ask => redirect(true),
            ServerErrorKind::TryAgain => Self::Retry,
            ServerErrorKind::ClusterDown if error.detail() == Some(NO_OWNER) => Self::NoOwner,
            ServerErrorKind::BusyLoading | ServerErrorKind::ClusterDown | ServerErrorKind::MasterDown => {
                Self::GiveUp(Failure::NotReady)
            }
            ServerErrorKind::ReadOnly => Self::GiveUp(Failure::ReadOnly),
            ServerErrorKind::NoPerm => Self::GiveUp(Failure::Denied),
            _ => Self::GiveUp(failure_in_words(error)),
        }
    }
}

/// The address that a redirection names; without a host it is the host that was asked.
fn redirected(error: &RedisError) -> Option<(String, u16)> {
    let (address, _slot) = error.redirect_node()?;
    let (host, port) = address.rsplit_once(':')?;
    Some((host.to_owned(), port.parse().ok()?))
}

/// Codes that the client library does not know by name.
fn failure_of_code(code: Option<&str>) -> Failure {
    match code {
        Some("OOM") => Failure::OutOfMemory,
        Some("BUSY" | "NOREPLICAS" | "MISCONF") => Failure::NotReady,
        // It was made a replica while a call waited for others.
        Some("UNBLOCKED") => Failure::ReadOnly,
        Some("NOAUTH" | "WRONGPASS" | "NOPERM") => Failure::Denied,
        _ => Failure::Other,
    }
}

/// An error inside a script has a general code; its own code is the first of its words.
fn failure_in_words(error: &RedisError) -> Failure {
    let words = error.detail().unwrap_or_default();
    let said = |code: &str| words.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == code);
    if said("OOM") {
        Failure::OutOfMemory
    } else if said("READONLY") {
        Failure::ReadOnly
    } else if is_refused(words) || said("AUTH") {
        Failure::Denied
    } else if said("MISCONF") || said("NOREPLICAS") || said("BUSY") {
        Failure::NotReady
    } else {
        Failure::Other
    }
}

/// True if asking the same server again at once is of no use.
pub(super) fn opens_breaker(failure: Failure) -> bool {
    matches!(failure, Failure::Unreachable | Failure::Disconnected | Failure::NotReady | Failure::ReadOnly)
}

/// The failure of a connection that could not be made.
pub(crate) fn unconnected(error: &RedisError) -> Failure {
    match ErrorAction::of(error) {
        ErrorAction::GiveUp(failure @ (Failure::NotReady | Failure::ReadOnly | Failure::Denied)) => failure,
        // Whatever else kept it from being made, there is none.
        _ => Failure::Unreachable,
    }
}

/// The error for a reply that cannot be read.
pub(crate) fn nonsense(what: &'static str) -> RedisError {
    RedisError::from((ErrorKind::UnexpectedReturnType, "unexpected reply to", what.to_owned()))
}
