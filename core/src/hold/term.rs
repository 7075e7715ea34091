//! The time for which units are held.

use std::time::Duration;

use crate::clock;
use crate::info::LimitInfo;
use crate::time::Micros;

/// A renewal that failed is tried again after this part of the lease.
const RETRY: Micros = 10;

/// The lease of units that are held, from one renewal to the next.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    length: Micros,
    until: Micros,
}

/// The outcome of a renewal, with the instant of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// The units are held for another lease.
    Done(Micros),
    /// Nobody knows: it is tried again.
    Failed(Micros),
    /// Others may have them.
    Lost,
}

impl Term {
    /// The lease of this length of units that were taken at this instant.
    #[must_use]
    pub fn new(length: Duration, began: Micros) -> Self {
        let length = Micros::try_from(length.as_micros()).unwrap_or(Micros::MAX);
        Self { length, until: began.saturating_add(length) }
    }

    /// The instant of its first renewal.
    #[must_use]
    pub fn first(&self) -> Micros {
        self.until - self.length + self.length / 3
    }

    /// Notes the answer of a renewal that began at this instant, if it has one; the receipt that was renewed may be
    /// [degraded](LimitInfo::degraded).
    pub fn renew(&mut self, answer: Option<&LimitInfo>, degraded: bool, began: Micros) -> Renewal {
        // Where the store and this process decide in turns, the one that has the units was not asked.
        match answer.filter(|info| info.degraded == degraded) {
            Some(info) if info.blocked => Renewal::Lost,
            Some(_) => {
                self.until = began.saturating_add(self.length);
                Renewal::Done(began.saturating_add(self.length / 3))
            }
            None => {
                let now = clock::now();
                match self.until.saturating_sub(now) {
                    0 => Renewal::Lost,
                    left => Renewal::Failed(now + left.min(self.length / RETRY)),
                }
            }
        }
    }
}
