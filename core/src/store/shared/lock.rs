//! The lock of a part of a table, and the journal of what its owner changes.
//!
//! A process may end between any two instructions. So before a word is changed, its old value goes into the journal;
//! who takes the lock over from a process that has ended puts the old values back. What the dead process had committed
//! stays.
//!
//! The stores of a thread need no order among processors here: whoever reads them has either taken the lock that the
//! thread released, or has seen the kernel report the end of its process, after which all stores that it made are
//! visible. Only the compiler must not move one before the other.

use super::sync::{AtomicU64, Ordering, compiler_fence};

/// The word of the lock: the number of its owner, or 0.
const LOCK: usize = 0;
/// Counts how often the lock was taken, so that a waiter sees whether its owner goes on.
const TURNS: usize = 1;
/// The number of words in the journal.
const NOTED: usize = 8;
/// The journal: places and old values in turn.
const JOURNAL: usize = 16;
/// The most changes between two commits.
const MOST: usize = 40;
/// The words that a lock and its journal take.
pub(super) const WORDS: usize = JOURNAL + 2 * MOST;

/// The words that are changed under a lock, which is at the front of them.
pub(super) trait Words {
    /// The word at a place, to be touched.
    fn word(&self, at: usize) -> &AtomicU64;

    /// A word, right before it is looked at or changed: here a test ends the process.
    #[inline]
    fn touch<'a>(&'a self, word: &'a AtomicU64) -> &'a AtomicU64 {
        word
    }

    #[inline]
    fn get(&self, at: usize) -> u64 {
        self.touch(self.word(at)).load(Ordering::Relaxed)
    }

    /// A word that is a place or a count.
    #[inline]
    fn index(&self, at: usize) -> usize {
        usize::try_from(self.get(at)).unwrap_or(usize::MAX)
    }

    /// Changes a word that no reader depends on yet, or any more.
    #[inline]
    fn set(&self, at: usize, value: u64) {
        self.touch(self.word(at)).store(value, Ordering::Relaxed);
    }

    /// Changes a word, once its old value is noted.
    #[inline]
    fn put(&self, at: usize, value: u64) {
        self.put_all([(at, self.word(at), value)]);
    }

    /// Changes words, each with its place, once the old values of all that differ are noted.
    #[inline]
    fn put_all<const COUNT: usize>(&self, changes: [(usize, &AtomicU64, u64); COUNT]) {
        let mut noted = self.index(NOTED);
        for (at, word, value) in changes {
            let old = self.touch(word).load(Ordering::Relaxed);
            if old != value {
                debug_assert!(noted < MOST, "each change is committed before there are more");
                self.set(JOURNAL + 2 * noted, at as u64);
                self.set(JOURNAL + 2 * noted + 1, old);
                noted += 1;
            }
        }
        compiler_fence(Ordering::SeqCst);
        self.set(NOTED, noted as u64);
        compiler_fence(Ordering::SeqCst);
        for (_, word, value) in changes {
            self.touch(word).store(value, Ordering::Relaxed);
        }
    }

    /// Lets what was changed stand.
    #[inline]
    fn commit(&self) {
        compiler_fence(Ordering::SeqCst);
        self.set(NOTED, 0);
        compiler_fence(Ordering::SeqCst);
    }

    /// Puts back what was changed since the last commit; may be begun again by another who takes over.
    #[cold]
    fn roll_back(&self) {
        for noted in (0..self.index(NOTED).min(MOST)).rev() {
            let at = self.index(JOURNAL + 2 * noted);
            self.set(at, self.get(JOURNAL + 2 * noted + 1));
        }
        self.commit();
    }

    /// Takes the lock for `me`; on error, its owner is alive and did not release it in time.
    #[inline]
    fn lock<W: Wait>(&self, me: u64, wait: impl FnOnce() -> W) -> Result<(), Owner> {
        if self.touch(self.word(LOCK)).compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_later(me, wait)?;
        }
        self.set(TURNS, self.get(TURNS).wrapping_add(1));
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn lock_later<W: Wait>(&self, me: u64, wait: impl FnOnce() -> W) -> Result<(), Owner> {
        let mut wait = wait();
        loop {
            // No exchange while it is taken: one that fails takes the words out of the cache of the owner's processor.
            let mut number = self.get(LOCK);
            if number == 0 {
                match self.touch(self.word(LOCK)).compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
                    Ok(_) => return Ok(()),
                    Err(other) => number = other,
                }
            }
            let owner = Owner { number, turn: self.get(TURNS) };
            match wait.pause(owner) {
                Pause::Over => {}
                Pause::OwnerEnded => {
                    let taken =
                        self.touch(self.word(LOCK)).compare_exchange(number, me, Ordering::Acquire, Ordering::Relaxed);
                    if taken.is_ok() {
                        self.roll_back();
                        return Ok(());
                    }
                }
                Pause::TooLong => return Err(owner),
            }
        }
    }

    /// Releases the lock. What was not committed is put back: a thread that panicked has left it.
    #[inline]
    fn unlock(&self) {
        if self.get(NOTED) > 0 {
            self.roll_back();
        }
        self.touch(self.word(LOCK)).store(0, Ordering::Release);
    }
}

/// The owner of a lock, at one of its turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) number: u64,
    pub(super) turn: u64,
}

/// The end of a pause.
pub(super) enum Pause {
    /// The lock may be free.
    Over,
    /// The process that holds it has ended.
    OwnerEnded,
    /// The time is over, and the owner is alive.
    TooLong,
}

/// A way to wait for the owner of a lock.
pub(super) trait Wait {
    fn pause(&mut self, owner: Owner) -> Pause;
}
