//! The reply queue of the bindings, with the steps of its threads in every order.
//!
//! `loom` runs each test once for each order that differs, with its own locks and threads in place of those of the
//! standard library. A reader that is not woken is a deadlock, which fails.

use loom::model::Builder;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::sync::{Arc, Condvar};
use loom::thread;

#[path = "../src/reply_queue/queue.rs"]
#[expect(unreachable_pub, reason = "public where it belongs")]
mod queue;

/// In place of the library's.
mod sync {
    pub(super) use loom::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
}

use queue::{ReplyQueue, Wake};

/// A flag that a reader waits for, as a byte in a socket or a task of an event loop is.
#[derive(Default)]
struct Flag {
    is_set: sync::Mutex<bool>,
    changed: Condvar,
    set: AtomicUsize,
}

impl Flag {
    fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Waits until the flag is set, and takes it back.
    fn wait(&self) {
        let mut is_set = self.is_set.lock().expect("no panic");
        while !*is_set {
            is_set = self.changed.wait(is_set).expect("no panic");
        }
        *is_set = false;
    }
}

/// Sets the flag; only while it lives.
struct Waker {
    flag: Arc<Flag>,
    lives: Arc<AtomicBool>,
}

impl Wake for Waker {
    fn wake(&self) {
        assert!(self.lives.load(Ordering::SeqCst), "called after the queue was closed");
        self.flag.set.fetch_add(1, Ordering::Relaxed);
        *self.flag.is_set.lock().expect("no panic") = true;
        self.flag.changed.notify_one();
        assert!(self.lives.load(Ordering::SeqCst), "gone while it was called");
    }
}

type Queue = ReplyQueue<usize, Waker>;

fn queue(flag: &Arc<Flag>) -> (Arc<Queue>, Arc<AtomicBool>) {
    let lives = Arc::new(AtomicBool::new(true));
    let waker = Waker { flag: flag.clone(), lives: lives.clone() };
    (Arc::new(ReplyQueue::new(Some(waker))), lives)
}

/// Orders in which threads are stopped in between more often than this are too many.
fn in_every_order(test: impl Fn() + Send + Sync + 'static) {
    let mut model = Builder::new();
    model.preemption_bound = Some(3);
    model.check(test);
}

#[test]
fn a_reader_gets_all_items_and_is_woken_for_each_that_it_waits_for() {
    in_every_order(|| {
        let flag = Flag::new();
        let (queue, _) = queue(&flag);
        let threads = [0, 1].map(|thread| {
            let queue = queue.clone();
            thread::spawn(move || queue.push(thread).expect("the queue is open"))
        });
        let mut items = Vec::new();
        while items.len() < 2 {
            flag.wait();
            items.extend(queue.take());
        }
        for thread in threads {
            thread.join().expect("no panic");
        }
        items.sort_unstable();
        assert_eq!(items, [0, 1]);
    });
}

#[test]
fn items_that_come_together_wake_the_reader_once() {
    in_every_order(|| {
        let flag = Flag::new();
        let (queue, _) = queue(&flag);
        let other = queue.clone();
        let thread = thread::spawn(move || other.push(0).expect("the queue is open"));
        queue.push(1).expect("the queue is open");
        thread.join().expect("no panic");
        assert_eq!(flag.set.load(Ordering::Relaxed), 1);
        assert_eq!(queue.take().len(), 2);
    });
}

#[test]
fn an_item_is_taken_returned_or_left_over_and_nothing_is_woken_after_the_end() {
    in_every_order(|| {
        let flag = Flag::new();
        let (queue, lives) = queue(&flag);
        let threads = [0, 1].map(|thread| {
            let queue = queue.clone();
            thread::spawn(move || queue.push(thread).is_err())
        });
        let taken = queue.take().len();
        let left = queue.close().len();
        // What the waker calls goes with its environment.
        lives.store(false, Ordering::SeqCst);
        let returned = threads.map(|thread| usize::from(thread.join().expect("no panic"))).into_iter().sum::<usize>();
        assert_eq!(taken + left + returned, 2);
        assert_eq!(queue.push(2), Err(2));
        assert!(queue.take().is_empty());
    });
}

#[test]
fn a_full_queue_drops_what_comes_and_keeps_what_it_has() {
    in_every_order(|| {
        let flag = Flag::new();
        let (queue, _) = queue(&flag);
        let other = queue.clone();
        let thread = thread::spawn(move || other.push_below(1, 0));
        let pushed = queue.push_below(1, 1);
        assert_eq!((pushed, thread.join().expect("no panic")), (Ok(()), Ok(())));
        flag.wait();
        assert_eq!(queue.take().len(), 1);
    });
}

#[test]
fn items_before_the_waker_wait_for_a_reader_that_comes_by_itself() {
    in_every_order(|| {
        let flag = Flag::new();
        let queue: Arc<Queue> = Arc::new(ReplyQueue::new(None));
        let other = queue.clone();
        let thread = thread::spawn(move || other.push(0));
        queue.wake_by(Waker { flag: flag.clone(), lives: Arc::new(AtomicBool::new(true)) });
        assert_eq!(thread.join().expect("no panic"), Ok(()));
        assert_eq!(queue.take(), [0]);
    });
}
