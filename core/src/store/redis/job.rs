//! A decision on its way to a server and back.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::plan::Decision;
use super::reply::Outcome;
use crate::clock;
use crate::failure::Failure;
use crate::time::Micros;

/// What came of a decision that was sent to the store.
pub(crate) type Answer = Result<Outcome, Failure>;

/// Told once what came of a job, on the thread that talks to the store: it must not block.
pub(crate) type Done = Box<dyn FnOnce(&Job, Answer) + Send>;

/// Nobody waits for a decision for longer than this.
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_hours(1);

/// How often a job may be sent on to another server before it is given up.
const MOST_HOPS: u8 = 5;

/// A decision under way; whoever finishes it first, with an answer or at its deadline, is the one who does.
pub(crate) struct Job {
    pub(super) decision: Decision,
    /// When the caller stops waiting, by the runtime's clock and by ours.
    pub(super) deadline: Instant,
    pub(super) expires: Micros,
    hops: AtomicU8,
    done: Mutex<Option<Done>>,
}

impl Job {
    pub(crate) fn new(decision: Decision, timeout: Duration, done: Done) -> Self {
        let timeout = timeout.min(LONGEST_TIMEOUT);
        let expires = clock::now().saturating_add(Micros::try_from(timeout.as_micros()).unwrap_or(Micros::MAX));
        let deadline = Instant::now() + timeout;
        Self { decision, deadline, expires, hops: AtomicU8::new(0), done: Mutex::new(Some(done)) }
    }

    pub(crate) fn decision(&self) -> &Decision {
        &self.decision
    }

    /// True for the one who finished it.
    pub(crate) fn finish(&self, answer: Answer) -> bool {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner).take();
        let first = done.is_some();
        if let Some(done) = done {
            done(self, answer);
        }
        first
    }

    /// Finishes it at its deadline, for whoever keeps no queue of deadlines.
    pub(super) async fn expire(self: Arc<Self>) {
        sleep_until(self.deadline).await;
        self.finish(Err(Failure::Timeout));
    }

    pub(super) fn is_over(&self) -> bool {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Whether it may be sent on once more.
    pub(super) fn may_hop(&self) -> bool {
        self.hops.fetch_add(1, Ordering::Relaxed) < MOST_HOPS
    }
}
