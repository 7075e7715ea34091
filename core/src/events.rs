//! Events of a store, for logs.

use std::fmt;
use std::sync::Arc;

use crate::failure::Failure;

/// Something that happened to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// The kind of the store: `redis`, or `memory`.
    pub store: &'static str,
    /// The server that it happened to.
    pub server: String,
    /// The reason in words.
    pub message: String,
}

/// Defines [`EventKind`] with its names, and the list that the bindings are generated from.
macro_rules! events {
    ($($(#[doc = $about:literal])+ $name:literal $kind:ident $(($failure:ident))?,)+) => {
        /// The kind of an event. Its [name](Self::name) is the same in every language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum EventKind {
            $(#[doc = concat!(" `", $name, "`:")] $(#[doc = $about])+ $kind $(($failure))?,)+
        }

        impl EventKind {
            /// Every name there is.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Every name with its documentation behind a space, and true where it goes with a failure.
            #[doc(hidden)]
            pub const ALL: &'static [(&'static str, &'static str, bool)] =
                &[$(($name, concat!($($about),+), [$(stringify!($failure),)? ""].len() == 2),)+];

            /// A short name, the same in every language.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind { .. } => $name,)+
                }
            }

            /// The failure that kept the store from deciding, where one did.
            #[must_use]
            pub const fn failure(self) -> Option<Failure> {
                match self {
                    $($(Self::$kind(failure) => {
                        let failure: $failure = failure;
                        Some(failure)
                    })?)+
                    _ => None,
                }
            }
        }
    };
}

events! {
    /// the circuit breaker opened: the server failed, and calls are answered without it
    "breaker-open" BreakerOpen(Failure),
    /// the circuit breaker closed: calls go to the server again
    "breaker-close" BreakerClose,
    /// a call failed in a way that does not open the breaker; at most once a minute for each kind of failure
    "failure" Failure(Failure),
    /// calls were answered without the store, or failed, most of them because of this; at the first such call of each
    /// outage, and then at most once a minute, with counts
    "degraded" Degraded(Failure),
    /// the store has decided every call for a second, so the outage is over
    "recovered" Recovered,
    /// the server may evict blocked clients when it is full; once
    "eviction" Eviction,
    /// the server's certificate is not verified, because of a setting; once
    "unverified" Unverified,
    /// the server is a node of a cluster, but the URL has the scheme of a single server; once
    "cluster" Cluster,
    /// the memory store is full, and new clients share entries; at most once a minute
    "overflow" Overflow,
}

impl EventKind {
    /// Worth a warning in a log; the others are information.
    #[must_use]
    pub const fn is_warning(self) -> bool {
        !matches!(self, Self::BreakerClose)
    }
}

/// The longest message of a server that an event repeats, so that a log line stays short.
const LONGEST_MESSAGE: usize = 400;

impl Event {
    pub(crate) fn new(kind: EventKind, store: &'static str, server: &dyn fmt::Display, message: &str) -> Self {
        Self { kind, store, server: server.to_string(), message: crate::error::shortened(message, LONGEST_MESSAGE) }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, store, server, message } = self;
        match kind {
            EventKind::Overflow => write!(f, "the memory store is full: {message}"),
            EventKind::BreakerOpen(failure) => write!(f, "{store} at {server} failed ({failure}): {message}"),
            EventKind::BreakerClose => write!(f, "{store} at {server} is back: {message}"),
            EventKind::Failure(failure) => write!(f, "{store} at {server} refused a call ({failure}): {message}"),
            EventKind::Degraded(_) => write!(f, "{store} at {server} did not decide: {message}"),
            EventKind::Recovered => write!(f, "{store} at {server} decides again: {message}"),
            EventKind::Eviction => write!(f, "{store} at {server} may evict blocked clients: {message}"),
            EventKind::Unverified => write!(f, "{store} at {server} is not verified: {message}"),
            EventKind::Cluster => write!(f, "{store} at {server} is a node of a cluster: {message}"),
        }
    }
}

/// The listener for events; the `tracing` subscriber unless one was given.
#[derive(Clone, Default)]
pub(crate) struct Events(Option<Arc<Listener>>);

type Listener = dyn Fn(&Event) + Send + Sync;

impl Events {
    pub(crate) fn to(listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    pub(crate) fn report(&self, event: &Event) {
        match &self.0 {
            Some(listener) => listener(event),
            None if event.kind.is_warning() => tracing::warn!(target: "tidegate", "{event}"),
            None => tracing::info!(target: "tidegate", "{event}"),
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a listener" } else { "tracing" })
    }
}
