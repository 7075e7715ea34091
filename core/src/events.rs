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
    /// Why, in words.
    pub message: String,
}

/// The kind of an event. Its [name](Self::name) is the same in every language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// `breaker-open`: the server failed, and calls are answered without it until a probe succeeds.
    BreakerOpen(Failure),
    /// `breaker-close`: the server is asked again.
    BreakerClose,
    /// `failure`: a call failed in a way that does not open the breaker. Told once a minute for each kind of failure.
    Failure(Failure),
    /// `degraded`: calls were answered without the store, or failed, most of them because of this. Told at the first
    /// such call, and then once a minute at the most, with counts.
    Degraded(Failure),
    /// `recovered`: the store decides again; told once a minute at the most.
    Recovered,
    /// `eviction`: the server may forget blocked clients when it is full. Told once.
    Eviction,
    /// `unverified`: the server's certificate is not looked at, because that was asked for. Told once.
    Unverified,
    /// `cluster`: the server is a node of a cluster though the URL does not say so, and is used as one. Told once.
    Cluster,
    /// `overflow`: the store in this process's memory is full: new clients share entries. Told once a minute.
    Overflow,
}

impl EventKind {
    /// Every name there is.
    pub const NAMES: [&'static str; 9] = [
        "breaker-open",
        "breaker-close",
        "failure",
        "degraded",
        "recovered",
        "eviction",
        "unverified",
        "cluster",
        "overflow",
    ];

    /// A short name, the same in every language.
    #[must_use]
    pub const fn name(self) -> &'static str {
        let index = match self {
            Self::BreakerOpen(_) => 0,
            Self::BreakerClose => 1,
            Self::Failure(_) => 2,
            Self::Degraded(_) => 3,
            Self::Recovered => 4,
            Self::Eviction => 5,
            Self::Unverified => 6,
            Self::Cluster => 7,
            Self::Overflow => 8,
        };
        Self::NAMES[index]
    }

    /// Why the store did not decide, where it did not.
    #[must_use]
    pub const fn failure(self) -> Option<Failure> {
        match self {
            Self::BreakerOpen(failure) | Self::Failure(failure) | Self::Degraded(failure) => Some(failure),
            Self::BreakerClose
            | Self::Recovered
            | Self::Eviction
            | Self::Unverified
            | Self::Cluster
            | Self::Overflow => None,
        }
    }

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
            EventKind::Eviction => write!(f, "{store} at {server} may forget blocked clients: {message}"),
            EventKind::Unverified => write!(f, "{store} at {server} may be anybody: {message}"),
            EventKind::Cluster => write!(f, "{store} at {server} is a node of a cluster: {message}"),
        }
    }
}

/// Whoever is to be told; the `tracing` subscriber unless a listener was given.
#[derive(Clone, Default)]
pub(crate) struct Events(Option<Arc<Listener>>);

type Listener = dyn Fn(&Event) + Send + Sync;

impl Events {
    pub(crate) fn to(listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    pub(crate) fn tell(&self, event: &Event) {
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
