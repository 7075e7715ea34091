//! The future of a task that several threads may poll, one at a time.
//!
//! A thread that polls it takes it out for that time, so no thread waits for another. A wake-up that comes meanwhile is
//! noted under the lock under which the future is put back, so the thread that puts it back sees it.

use std::mem;
use std::sync::PoisonError;

use super::sync::{Mutex, MutexGuard};

/// A future `F`, and the waker `W` of the runtime that it belongs to.
pub(super) struct Turn<F, W>(Mutex<State<F, W>>);

struct State<F, W> {
    future: Stage<F>,
    /// A thread is to poll it, and has been woken.
    woken: bool,
    /// Wakes the runtime, from its first poll on.
    runtime: Option<W>,
}

enum Stage<F> {
    Here(F),
    /// A thread polls it.
    Out,
    Over,
}

/// The future of one that asks for it.
pub(super) enum Taken<F> {
    /// To be polled, and [put back](Turn::put_back).
    It(F),
    /// None: the thread that has it will see that it was woken.
    Out,
    Over,
}

impl<F, W: Clone> Turn<F, W> {
    /// A future that is to be polled for the first time.
    pub(super) fn new(future: F) -> Self {
        Self(Mutex::new(State { future: Stage::Here(future), woken: true, runtime: None }))
    }

    fn lock(&self) -> MutexGuard<'_, State<F, W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self) -> Taken<F> {
        let mut state = self.lock();
        match mem::replace(&mut state.future, Stage::Out) {
            Stage::Here(future) => {
                state.woken = false;
                Taken::It(future)
            }
            Stage::Out => {
                state.woken = true;
                Taken::Out
            }
            Stage::Over => {
                state.future = Stage::Over;
                Taken::Over
            }
        }
    }

    /// Puts back what was taken, if it is pending. What is over is returned, to be dropped without the lock.
    pub(super) fn put_back(&self, future: F, is_pending: bool) -> Option<F> {
        let mut state = self.lock();
        if is_pending && matches!(state.future, Stage::Out) {
            state.future = Stage::Here(future);
            return None;
        }
        state.future = Stage::Over;
        state.woken = true;
        Some(future)
    }

    /// Notes a wake-up: true if a thread has to be found that polls.
    pub(super) fn wake(&self) -> bool {
        let mut state = self.lock();
        // The thread that polls it, or is about to, will see.
        !mem::replace(&mut state.woken, true) && matches!(state.future, Stage::Here(_))
    }

    /// The waker of the runtime, where that has to poll.
    pub(super) fn due(&self) -> Option<W> {
        let state = self.lock();
        if state.woken { state.runtime.clone() } else { None }
    }

    /// Has the runtime be woken in this way, the first one that is given.
    pub(super) fn belongs_to(&self, waker: impl FnOnce() -> W) {
        self.lock().runtime.get_or_insert_with(waker);
    }

    /// Ends it, and returns it to be dropped without the lock. One that is polled just now ends with that.
    pub(super) fn end(&self) -> Option<F> {
        let mut state = self.lock();
        state.runtime = None;
        match mem::replace(&mut state.future, Stage::Over) {
            Stage::Here(future) => Some(future),
            Stage::Out | Stage::Over => None,
        }
    }
}
