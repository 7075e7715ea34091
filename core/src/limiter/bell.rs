//! A bell that wakes a call which waits, in the way in which its host waits.

use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Rings when there may be room for a call that waits. Rung before anybody listens, it is heard all the same.
#[derive(Clone, Debug, Default)]
pub struct Bell(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_rung: bool,
    waker: Option<Waker>,
}

impl Bell {
    /// Has this waker woken each time that it rings, and at once if it has rung.
    pub fn on_ring(&self, waker: Waker) {
        let mut state = self.state();
        if state.is_rung {
            drop(state);
            waker.wake();
        } else {
            state.waker = Some(waker);
        }
    }

    /// Waits on this thread until it rings, for at most so long; true if it has rung.
    pub fn wait(&self, time: Duration) -> bool {
        let rung = self.0.rung.wait_timeout_while(self.state(), time, |state| !state.is_rung);
        rung.unwrap_or_else(PoisonError::into_inner).0.is_rung
    }

    /// Completes when it rings.
    pub async fn rings(&self) {
        poll_fn(|context| {
            let mut state = self.state();
            if state.is_rung {
                return Poll::Ready(());
            }
            state.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    pub(crate) fn ring(&self) {
        let mut state = self.state();
        state.is_rung = true;
        let waker = state.waker.clone();
        drop(state);
        self.0.rung.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// It has rung since it was heard last; and it is heard now.
    pub(crate) fn heard(&self) -> bool {
        std::mem::take(&mut self.state().is_rung)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
