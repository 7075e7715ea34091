//! Calls that are due at some time, made by one task of the process's own runtime.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock;
use crate::time::Micros;

/// Calls that are over stay for their time, unless they are more than the others and than these.
const FEW: usize = 64;

/// Something that is called when it is due, for as long as it is there.
pub(crate) trait Due: Send + Sync {
    /// Gives the instant at which it is due again, if it is.
    fn call(self: Arc<Self>) -> Pin<Box<dyn Future<Output = Option<Micros>> + Send>>;
}

#[derive(Default)]
pub(super) struct Agenda {
    calls: Mutex<Calls>,
    /// Notified when a call is due before the task wakes up.
    earlier: Notify,
}

#[derive(Default)]
struct Calls {
    heap: BinaryHeap<Call>,
    /// Those in the heap that were called off.
    over: usize,
    /// The instant at which the task wakes up; none where there is no task.
    wakes: Option<Micros>,
}

struct Call {
    due: Micros,
    what: Weak<dyn Due>,
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Call {}

impl PartialOrd for Call {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The one that is due first is the greatest.
impl Ord for Call {
    fn cmp(&self, other: &Self) -> Ordering {
        other.due.cmp(&self.due)
    }
}

enum Next {
    Call(Arc<dyn Due>),
    Sleep(Duration),
    End,
}

impl Agenda {
    /// Notes a call; true if a task has to be started that makes the calls.
    pub(super) fn add(&self, due: Micros, what: Weak<dyn Due>) -> bool {
        let mut calls = self.calls();
        calls.heap.push(Call { due, what });
        match calls.wakes {
            Some(wakes) if due >= wakes => false,
            Some(_) => {
                self.earlier.notify_one();
                false
            }
            None => {
                calls.wakes = Some(due);
                true
            }
        }
    }

    /// One of the calls will soon be gone.
    pub(super) fn called_off(&self) {
        let mut calls = self.calls();
        calls.over += 1;
        if calls.over > FEW.max(calls.heap.len() / 2) {
            calls.heap.retain(|call| call.what.strong_count() > 0);
            calls.over = 0;
        }
    }

    /// The next call, once it is due; none if there is none, and then the task is over.
    pub(super) async fn next(&self) -> Option<Arc<dyn Due>> {
        loop {
            match self.first() {
                Next::Call(what) => return Some(what),
                Next::Sleep(time) => drop(tokio::time::timeout(time, self.earlier.notified()).await),
                Next::End => return None,
            }
        }
    }

    fn first(&self) -> Next {
        let mut calls = self.calls();
        while let Some(first) = calls.heap.peek() {
            let (due, now) = (first.due, clock::now());
            if first.what.strong_count() > 0 && due > now {
                calls.wakes = Some(due);
                return Next::Sleep(Duration::from_micros(due - now));
            }
            match calls.heap.pop().and_then(|call| call.what.upgrade()) {
                Some(what) => return Next::Call(what),
                None => calls.over = calls.over.saturating_sub(1),
            }
        }
        calls.wakes = None;
        Next::End
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
