//! What happens to a store, for whoever keeps a log.

use std::fmt;
use std::sync::Arc;

use crate::failure::Failure;

/// Something that happened to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// What kind of thing it is.
    pub kind: EventKind,
    /// The server that it happened to.
    pub server: String,
    /// Why, in words.
    pub message: String,
}

/// What kind of thing happened to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// A breaker opened: the server failed, and calls are answered without it until a probe finds it well.
    Opened(Failure),
    /// A breaker closed: the server is asked again.
    Closed,
    /// A call failed in a way that does not open the breaker. Told once a minute for each kind of failure.
    Failure(Failure),
    /// The server gives up entries at random when it is full. Told once.
    EvictsAtRandom,
    /// The store in this process's memory is full: new clients share entries. Told once a minute.
    Overflow,
}

/// What a server said may be long, and a log line should not be.
const LONGEST_MESSAGE: usize = 300;

impl Event {
    pub(crate) fn new(kind: EventKind, server: &dyn fmt::Display, message: &str) -> Self {
        Self { kind, server: server.to_string(), message: crate::error::shortened(message, LONGEST_MESSAGE) }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, server, message } = self;
        match kind {
            EventKind::Opened(failure) => write!(f, "redis at {server} failed ({failure}): {message}"),
            EventKind::Closed => write!(f, "redis at {server} is back: {message}"),
            EventKind::EvictsAtRandom => write!(f, "redis at {server} may forget blocked clients: {message}"),
            EventKind::Overflow => write!(f, "the memory store is full: {message}"),
            EventKind::Failure(failure) => write!(f, "redis at {server} refused a call ({failure}): {message}"),
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
        match (&self.0, event.kind) {
            (Some(listener), _) => listener(event),
            (None, EventKind::Closed) => tracing::info!(target: "tidegate", "{event}"),
            (None, _) => tracing::warn!(target: "tidegate", "{event}"),
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a listener" } else { "tracing" })
    }
}
