//! The patience of a thread that waits for a lock.

use std::time::Duration;
use std::{hint, thread};

use super::lock::{Owner, Pause, Wait};
use crate::boot_clock;
use crate::time::Micros;

/// Looks at the lock before the thread lets others run, and before it sleeps.
const SPINS: u32 = 24;
const YIELDS: u32 = 216;
/// Between two of the first looks the thread spins once, then twice as often each time, up to this power of two: about a
/// microsecond. So an owner that comes back at once decides several calls with all that it touches in its cache. To hand
/// that over takes longer than a decision.
const MOST_SPINS: u32 = 5;
/// The owner of a lock is checked after so long at the latest, and again each time.
const CHECK_EVERY: Micros = 1000;
const SLEEP: Duration = Duration::from_micros(100);
/// The patience with an owner that was waited for in vain before, and has not moved since.
const SHORT: Micros = 1000;

/// The owners of locks, as a waiter asks for them.
pub(super) trait Owners {
    fn is_alive(&self, number: u64) -> bool;

    /// True for one that was waited for in vain before, and has not moved since.
    fn is_known_to_be_stuck(&self, owner: Owner) -> bool;

    fn note_stuck(&self, owner: Owner);
}

/// One wait for a lock.
pub(super) struct Waiting<'a> {
    owners: &'a dyn Owners,
    patience: Micros,
    rounds: u32,
    began: Micros,
    /// The owner, when it was seen first, how often since, and when it was checked last.
    owner: Option<Owner>,
    since: Micros,
    looks: u32,
    checked: Micros,
}

/// An owner counts as one that does not go on after so many looks. One look is not enough: this thread may have been the
/// one that stood still.
const LOOKS: u32 = 8;

impl<'a> Waiting<'a> {
    pub(super) fn new(owners: &'a dyn Owners, patience: Micros) -> Self {
        Self { owners, patience, rounds: 0, began: 0, owner: None, since: 0, looks: 0, checked: 0 }
    }
}

impl Wait for Waiting<'_> {
    fn pause(&mut self, owner: Owner) -> Pause {
        self.rounds += 1;
        if self.rounds <= SPINS {
            (0..1 << (self.rounds - 1).min(MOST_SPINS)).for_each(|_| hint::spin_loop());
            return Pause::Over;
        }
        let now = boot_clock::since_boot();
        if self.began == 0 {
            self.began = now;
        }
        if self.owner != Some(owner) {
            (self.owner, self.since, self.looks, self.checked) = (Some(owner), now, 0, now);
        }
        self.looks += 1;
        if now.saturating_sub(self.checked) >= CHECK_EVERY {
            self.checked = now;
            if !self.owners.is_alive(owner.number) {
                return Pause::OwnerEnded;
            }
        }
        let is_stuck = self.owners.is_known_to_be_stuck(owner);
        let patience = if is_stuck { self.patience.min(SHORT) } else { self.patience };
        // While the lock goes from one to the next, it is not given up.
        let stands_still = self.looks >= LOOKS && now.saturating_sub(self.since) > CHECK_EVERY;
        if stands_still && now.saturating_sub(self.began) >= patience {
            self.owners.note_stuck(owner);
            return Pause::TooLong;
        }
        if self.rounds <= YIELDS {
            thread::yield_now();
        } else {
            thread::sleep(SLEEP);
        }
        Pause::Over
    }
}
