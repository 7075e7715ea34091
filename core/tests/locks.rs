//! The lock of a part of a shared table, with the steps of its owners in every order, and with a process that ends at
//! each of its own steps.

#![cfg(all(feature = "shm", target_os = "linux"))]

use std::cell::Cell;

use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;

#[path = "../src/store/shared/lock.rs"]
#[allow(dead_code, reason = "the rest is of the table")]
mod lock;

/// In place of the library's.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

    /// Orders nothing among threads, and no test has a compiler that moves what one has done.
    pub(crate) fn compiler_fence(_: Ordering) {}
}

use lock::{Owner, Pause, WORDS, Wait, Words};

/// The words that a lock and a journal of four changes take, and two beside them, which are always equal.
struct Table {
    words: Vec<AtomicU64>,
    has_ended: AtomicBool,
}

const MORTAL: u64 = 7;
const PLACES: [usize; 13] = [0, 1, 8, 16, 17, 18, 19, 20, 21, 22, 23, WORDS, WORDS + 1];

impl Table {
    fn new() -> Arc<Self> {
        let words = PLACES.iter().map(|_| AtomicU64::new(0)).collect();
        Arc::new(Self { words, has_ended: AtomicBool::new(false) })
    }

    /// The same word of this table as the one of another.
    fn of(&self, place: usize) -> &AtomicU64 {
        &self.words[place]
    }

    fn place_of(&self, word: &AtomicU64) -> usize {
        self.words.iter().position(|one| std::ptr::eq(one, word)).expect("a word of this table")
    }

    fn both(&self) -> [u64; 2] {
        [self.get(WORDS), self.get(WORDS + 1)]
    }
}

impl Words for Table {
    fn word(&self, at: usize) -> &AtomicU64 {
        &self.words[PLACES.iter().position(|place| *place == at).expect("a word that is used")]
    }
}

/// A process that ends after so many steps: what it does then changes nothing that others see.
struct Mortal {
    table: Arc<Table>,
    nowhere: Arc<Table>,
    left: Cell<u32>,
}

impl Words for Mortal {
    fn word(&self, at: usize) -> &AtomicU64 {
        self.table.word(at)
    }

    fn touch<'a>(&'a self, word: &'a AtomicU64) -> &'a AtomicU64 {
        match self.left.get() {
            0 => self.nowhere.of(self.table.place_of(word)),
            left => {
                self.left.set(left - 1);
                word
            }
        }
    }
}

/// The kernel tells whether a process has ended.
struct Patient<'a>(&'a Table);

impl Wait for Patient<'_> {
    fn pause(&mut self, owner: Owner) -> Pause {
        if owner.number == MORTAL && self.0.has_ended.load(Ordering::Acquire) {
            return Pause::OwnerEnded;
        }
        thread::yield_now();
        Pause::Over
    }
}

/// Changes both words together, twice.
fn work(words: &impl Words, me: u64, wait: impl Wait, times: u64) {
    assert!(words.lock(me, || wait).is_ok());
    for _ in 0..times {
        words.put(WORDS, words.get(WORDS) + 1);
        words.put(WORDS + 1, words.get(WORDS + 1) + 1);
        words.commit();
    }
    words.unlock();
}

fn in_every_order(threads: u64, steps: u32, preemptions: Option<usize>) {
    let mut model = Builder::new();
    model.preemption_bound = preemptions;
    model.max_branches = 10_000;
    model.check(move || {
        let table = Table::new();
        let mortal = {
            let table = table.clone();
            thread::spawn(move || {
                let mortal = Mortal { table: table.clone(), nowhere: Table::new(), left: Cell::new(steps) };
                work(&mortal, MORTAL, Patient(&table), 2);
                // All that it did before is seen by who sees this; it may still hold the lock.
                table.has_ended.store(true, Ordering::Release);
            })
        };
        let others: Vec<_> = (1..=threads)
            .map(|me| {
                let table = table.clone();
                thread::spawn(move || {
                    work(&*table, me, Patient(&table), 1);
                })
            })
            .collect();
        mortal.join().expect("no panic");
        for thread in others {
            thread.join().expect("no panic");
        }
        // Another one, to whom all of them have left a sound table.
        work(&*table, 9, Patient(&table), 1);
        let [one, other] = table.both();
        assert_eq!(one, other, "no change is half made");
        assert!((threads + 1..=threads + 3).contains(&one), "{one}: what was committed stays");
    });
}

/// More than the steps that its work takes.
const STEPS: u32 = 48;

#[test]
fn a_process_that_ends_leaves_the_lock_and_no_half_change_to_another() {
    for steps in 1..STEPS {
        in_every_order(1, steps, Some(2));
    }
}

#[test]
fn two_that_find_a_dead_owner_do_not_both_take_its_lock() {
    for steps in [8, 15, 22] {
        in_every_order(2, steps, Some(1));
    }
}
