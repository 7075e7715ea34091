//! The hand-over of a runtime, with the steps of its threads in every order.
//!
//! `loom` runs each test once for each order that differs, with its own atomics and threads in place of those of the
//! standard library. A thread that nothing wakes is a deadlock, which fails.

#![cfg(feature = "redis")]

use std::time::Duration;

use loom::model::Builder;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

#[path = "../src/store/remote/handover.rs"]
#[allow(dead_code, reason = "the rest only looks at a word")]
mod handover;

/// In place of the library's.
mod sync {
    use std::cell::{Cell, RefCell};
    pub(crate) use std::sync::OnceLock;
    use std::time::Duration;

    use loom::sync::{Arc, Condvar, Mutex};

    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

    std::thread_local! {
        /// True where the time of one who sleeps is over at once; elsewhere it never is, so nothing may depend on it.
        pub(crate) static IN_A_HURRY: Cell<bool> = const { Cell::new(false) };
    }

    loom::thread_local! {
        static CURRENT: RefCell<Option<Thread>> = RefCell::new(None);
    }

    /// A thread's token. loom's own wakes a thread that waits for a lock.
    #[derive(Clone)]
    pub(crate) struct Thread(Arc<(Mutex<bool>, Condvar)>);

    impl Thread {
        pub(crate) fn unpark(&self) {
            *self.0.0.lock().expect("no panic") = true;
            self.0.1.notify_one();
        }
    }

    pub(crate) fn current() -> Thread {
        let new = || Thread(Arc::new((Mutex::new(false), Condvar::new())));
        CURRENT.with(|current| current.borrow_mut().get_or_insert_with(new).clone())
    }

    pub(crate) fn park_for(_: Duration) -> bool {
        let in_a_hurry = IN_A_HURRY.get();
        if !in_a_hurry {
            let thread = current();
            let mut token = thread.0.0.lock().expect("no panic");
            while !std::mem::take(&mut *token) {
                token = thread.0.1.wait(token).expect("no panic");
            }
        }
        in_a_hurry
    }
}

use handover::Handover;

/// A runtime with one thing to do for each caller: one thread at a time drives it, and the next is woken when that ends.
struct Runtime {
    handover: Handover,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_driven: bool,
    work: [Work; 2],
    is_over: bool,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Work {
    #[default]
    None,
    /// Of a caller that drives.
    Own,
    /// Of one that waits: it needs the runtime until it is done.
    Others,
    Done,
}

impl Runtime {
    fn start() -> (Arc<Self>, thread::JoinHandle<()>) {
        let state = Mutex::new(State::default());
        let runtime = Arc::new(Self { handover: Handover::new(), state, changed: Condvar::new() });
        // Before anything else, as the runtime's thread does first.
        let own = runtime.clone();
        (runtime, thread::spawn(move || own.run()))
    }

    /// The runtime's thread.
    fn run(&self) {
        self.handover.belongs_here();
        loop {
            self.drive(|state| state.is_over || self.handover.is_away());
            if self.state.lock().expect("no panic").is_over {
                return;
            }
            self.handover.stay_away(Duration::ZERO);
        }
    }

    /// Drives until then, or waits while another thread does.
    fn drive(&self, is_over: impl Fn(&State) -> bool) {
        let mut state = self.state.lock().expect("no panic");
        let mut drives = false;
        while !is_over(&state) {
            drives |= !state.is_driven;
            state.is_driven |= drives;
            if drives && let Some(work) = state.work.iter_mut().find(|work| matches!(work, Work::Own | Work::Others)) {
                if std::mem::replace(work, Work::Done) == Work::Others {
                    self.handover.end();
                }
                self.changed.notify_all();
            } else {
                state = self.changed.wait(state).expect("no panic");
            }
        }
        if drives {
            state.is_driven = false;
            self.changed.notify_all();
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().expect("no panic"));
        self.changed.notify_all();
    }

    fn send_away(&self) {
        if self.handover.send_away() {
            self.change(|_| ());
        }
    }

    /// A blocking call; one that drives may leave early.
    fn call(&self, caller: usize, leaves_early: bool) {
        if self.handover.take_seat() {
            self.change(|state| state.work[caller] = Work::Own);
            if leaves_early {
                self.handover.call_back();
            } else {
                self.drive(|state| state.work[caller] == Work::Done);
                self.handover.end();
                return;
            }
            self.wait(caller);
            self.handover.end();
        } else {
            self.other_call(caller);
        }
    }

    /// A call that never drives.
    fn other_call(&self, caller: usize) {
        self.handover.need();
        self.change(|state| state.work[caller] = Work::Others);
        self.wait(caller);
    }

    fn wait(&self, caller: usize) {
        let mut state = self.state.lock().expect("no panic");
        while state.work[caller] != Work::Done {
            state = self.changed.wait(state).expect("no panic");
        }
    }

    fn end(&self, thread: thread::JoinHandle<()>) {
        self.change(|state| state.is_over = true);
        self.handover.call_back();
        thread.join().expect("no panic");
    }
}

/// Orders in which threads are stopped in between more often than this find nothing more, and are too many.
fn in_every_order(in_a_hurry: bool, test: impl Fn() + Send + Sync + 'static) {
    sync::IN_A_HURRY.set(in_a_hurry);
    let mut model = Builder::new();
    model.preemption_bound = Some(2);
    model.check(test);
    sync::IN_A_HURRY.set(false);
}

/// One caller that sends the thread away and calls, and another that comes whenever it does.
fn two_callers(leaves_early: bool, both_may_drive: bool) {
    let (runtime, thread) = Runtime::start();
    let others = runtime.clone();
    let other = thread::spawn(move || if both_may_drive { others.call(1, false) } else { others.other_call(1) });
    runtime.send_away();
    runtime.call(0, leaves_early);
    other.join().expect("no panic");
    runtime.end(thread);
}

#[test]
fn a_call_is_served_while_another_caller_drives_or_leaves() {
    in_every_order(false, || two_callers(false, false));
}

#[test]
fn callers_that_both_may_drive_are_served() {
    in_every_order(false, || two_callers(false, true));
}

#[test]
fn what_a_driver_leaves_is_done_by_the_thread() {
    in_every_order(false, || two_callers(true, false));
}

#[test]
fn a_thread_that_comes_back_by_itself_at_any_time_is_in_nobodys_way() {
    in_every_order(true, || two_callers(false, false));
}

#[test]
fn one_caller_alone_needs_no_other_thread() {
    in_every_order(false, || {
        let (runtime, thread) = Runtime::start();
        for _ in 0..2 {
            runtime.send_away();
            runtime.call(0, false);
            runtime.change(|state| state.work[0] = Work::None);
        }
        runtime.end(thread);
    });
}
