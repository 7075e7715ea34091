//! The warning that a store is full.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock;
use crate::events::{Event, EventKind, Events};
use crate::time::Micros;

const ONCE_IN: Micros = 60 * 1_000_000;

/// The event of a full store, once a minute at most.
#[derive(Debug, Default)]
pub(super) struct Warning {
    pub(super) events: Events,
    /// The earliest time of the next one.
    next: AtomicU64,
}

impl Warning {
    pub(super) fn of_overflow(&self, entries: usize) {
        let (now, next) = (clock::now(), self.next.load(Ordering::Relaxed));
        if now < next || self.next.compare_exchange(next, now + ONCE_IN, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        let why = format!("all {entries} entries are in use, so new clients share entries and may be denied early");
        self.events.report(&Event::new(EventKind::Overflow, "memory", &"memory", &why));
    }
}
