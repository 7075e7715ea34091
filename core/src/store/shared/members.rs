//! The processes that use a table, as the kernel knows them.
//!
//! Each process has a place in the header, and a claim on one byte of the file that the kernel gives up with the
//! process. So nobody depends on the numbers of processes, which are used again, and differ between containers. A number
//! of a lock's owner is made of the place and of a count of those who have had it: it is never used twice.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::mapping::{self, Mapping};
use super::plan::{MOST_PROCESSES, header};

/// The first of the claimed bytes, whatever the table has there: a claim is no more than a note of the kernel. 32 bits name
/// each of them.
const CLAIMS: usize = 1 << 30;
/// The bits of an owner's number that are its place, counted from 1.
const PLACE_BITS: u32 = 12;
/// In place of this process's number while a thread of it takes a place.
const JOINING: u64 = 1;

/// This process among those that use a table.
#[derive(Debug)]
pub(super) struct Members {
    /// All zeros again in a forked child, which takes a place of its own: the claims of its parent are not its.
    own: Mapping,
}

impl Members {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { own: Mapping::of_this_process()? })
    }

    /// The number of this process, if it has one yet.
    #[inline]
    pub(super) fn me(&self) -> Option<u64> {
        let number = self.own.words()[0].load(Ordering::Acquire);
        (number > JOINING).then_some(number)
    }

    /// Takes a place for this process.
    #[cold]
    pub(super) fn join(&self, file: &File, words: &[AtomicU64]) -> io::Result<u64> {
        let own = &self.own.words()[0];
        loop {
            if own.compare_exchange(0, JOINING, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                let joined = take_place(file, words);
                own.store(*joined.as_ref().unwrap_or(&0), Ordering::Release);
                return joined;
            }
            match self.me() {
                Some(number) => return Ok(number),
                None => std::thread::yield_now(),
            }
        }
    }

    /// Makes this process another one, as if it had ended and been started again.
    #[cfg(test)]
    pub(super) fn forget(&self) {
        self.own.words()[0].store(0, Ordering::Relaxed);
    }

    /// True unless the process of this number has certainly ended.
    pub(super) fn is_alive(&self, file: &File, words: &[AtomicU64], number: u64) -> bool {
        let place = place_of(number);
        let Some(count) = place.and_then(|place| words.get(header::PROCESSES + place)) else { return true };
        // A later process at the same place has been counted before it could take a lock.
        if count.load(Ordering::Acquire) != number >> PLACE_BITS {
            return false;
        }
        self.me() == Some(number) || place.is_none_or(|place| mapping::is_claimed(file, CLAIMS + place).unwrap_or(true))
    }

    /// The number of processes that use the table now, this one too.
    pub(super) fn count(&self, file: &File, words: &[AtomicU64]) -> u64 {
        let mine = self.me().and_then(place_of);
        let most = usize::try_from(words[header::PLACES].load(Ordering::Relaxed)).unwrap_or(0).min(MOST_PROCESSES);
        let is_used =
            |place: &usize| mine == Some(*place) || mapping::is_claimed(file, CLAIMS + place).unwrap_or(false);
        (0..most).filter(is_used).count() as u64
    }
}

fn place_of(number: u64) -> Option<usize> {
    usize::try_from(number & ((1 << PLACE_BITS) - 1)).ok()?.checked_sub(1).filter(|place| *place < MOST_PROCESSES)
}

fn take_place(file: &File, words: &[AtomicU64]) -> io::Result<u64> {
    for place in 0..MOST_PROCESSES {
        if mapping::claim(file, CLAIMS + place)? {
            words[header::PLACES].fetch_max(place as u64 + 1, Ordering::Relaxed);
            let count = words[header::PROCESSES + place].fetch_add(1, Ordering::AcqRel) + 1;
            return Ok(count << PLACE_BITS | (place as u64 + 1));
        }
    }
    Err(io::Error::other(format!("{MOST_PROCESSES} processes use it already")))
}
