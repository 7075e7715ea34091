//! The future that several threads may poll, with their steps in every order.
//!
//! `loom` runs each test once for each order that differs, with its own locks and threads in place of those of the
//! standard library. A wake-up that is lost leaves a runtime that waits for ever, which is a deadlock and fails.

#![cfg(feature = "redis")]

use loom::model::Builder;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

#[path = "../src/store/remote/turn.rs"]
mod turn;

/// In place of the library's.
mod sync {
    pub(super) use loom::sync::{Mutex, MutexGuard};
}

use turn::{Taken, Turn};

/// The waker of a runtime.
#[derive(Default)]
struct Flag {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Flag {
    fn set(&self) {
        *self.is_set.lock().expect("no panic") = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let mut is_set = self.is_set.lock().expect("no panic");
        while !std::mem::take(&mut *is_set) {
            is_set = self.changed.wait(is_set).expect("no panic");
        }
    }
}

/// A future that is ready when it has read so many messages.
struct Reader {
    left: usize,
    dropped: Arc<AtomicUsize>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

/// A task as `store/remote/task.rs` has it.
struct Task {
    turn: Turn<Reader, Arc<Flag>>,
    sent: AtomicUsize,
    dropped: Arc<AtomicUsize>,
}

impl Task {
    fn of(messages: usize) -> Arc<Self> {
        let dropped = Arc::new(AtomicUsize::new(0));
        let turn = Turn::new(Reader { left: messages, dropped: dropped.clone() });
        Arc::new(Self { turn, sent: AtomicUsize::new(0), dropped })
    }

    /// True if it is over.
    fn poll(&self) -> bool {
        let mut reader = match self.turn.take() {
            Taken::It(reader) => reader,
            Taken::Out => return false,
            Taken::Over => return true,
        };
        reader.left -= self.sent.swap(0, Ordering::SeqCst);
        let is_pending = reader.left > 0;
        drop(self.turn.put_back(reader, is_pending));
        self.pass_on();
        !is_pending
    }

    fn pass_on(&self) {
        if let Some(flag) = self.turn.due() {
            flag.set();
        }
    }

    /// Sends a message, and polls what that wakes, or leaves it to the runtime.
    fn send(&self, polls: bool) {
        self.sent.fetch_add(1, Ordering::SeqCst);
        if self.turn.wake() {
            if polls {
                self.poll();
            } else {
                self.pass_on();
            }
        }
    }

    /// The runtime's thread, until it is over.
    fn run(&self) {
        let flag = Arc::new(Flag::default());
        loop {
            self.turn.belongs_to(|| flag.clone());
            if self.poll() {
                drop(self.turn.end());
                return;
            }
            flag.wait();
        }
    }
}

/// Orders in which threads are stopped in between more often than this find nothing more, and are too many.
fn in_every_order(test: impl Fn() + Send + Sync + 'static) {
    let mut model = Builder::new();
    model.preemption_bound = Some(2);
    model.check(test);
}

fn every_message_is_read(polls: [bool; 2]) {
    in_every_order(move || {
        let task = Task::of(2);
        let senders = polls.map(|polls| {
            let task = task.clone();
            thread::spawn(move || task.send(polls))
        });
        task.run();
        for sender in senders {
            sender.join().expect("no panic");
        }
        assert_eq!(task.dropped.load(Ordering::SeqCst), 1, "once");
    });
}

#[test]
fn what_callers_poll_is_read() {
    every_message_is_read([true, true]);
}

#[test]
fn what_is_left_to_the_runtime_is_read() {
    every_message_is_read([false, false]);
}

#[test]
fn what_callers_and_the_runtime_poll_is_read() {
    every_message_is_read([true, false]);
}

#[test]
fn one_that_is_ended_while_a_caller_polls_it_is_dropped_once_and_over() {
    in_every_order(|| {
        let task = Task::of(3);
        assert!(!task.poll(), "the first time is the runtime's");
        let senders = [task.clone(), task.clone()].map(|task| thread::spawn(move || task.send(true)));
        drop(task.turn.end());
        for sender in senders {
            sender.join().expect("no panic");
        }
        assert!(matches!(task.turn.take(), Taken::Over));
        assert_eq!(task.dropped.load(Ordering::SeqCst), 1, "once");
    });
}
