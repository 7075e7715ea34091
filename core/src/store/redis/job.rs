//! A decision on its way to a server and back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::decode::Reply;
use super::encode::Decision;
use crate::clock;
use crate::failure::Failure;
use crate::time::Micros;

/// The outcome of a decision that was sent to the store.
pub(crate) type Answer = Result<Reply, Failure>;

/// Called once with the outcome of a job, on the thread that talks to the store: it must not block.
pub(crate) type Done = Box<dyn FnOnce(&Job, Answer) + Send>;

/// The longest time that a caller waits for a decision.
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);

/// Times that a job may be sent on to another server before it is given up.
const MOST_HOPS: u8 = 5;

/// A decision under way. The first to finish it, with an answer or at its deadline, decides the outcome; a job that is
/// dropped unfinished is finished by that.
pub(crate) struct Job {
    pub(super) decision: Decision,
    /// The deadline of the caller, by the runtime's clock and by ours.
    pub(super) deadline: Instant,
    pub(super) expires: Micros,
    hops: AtomicU8,
    /// The number of servers that have decided, and wait for replicas.
    held: AtomicU32,
    /// The job that this one is a share of.
    whole: Option<Arc<Job>>,
    /// Until it is over.
    done: Mutex<Option<Done>>,
}

impl Job {
    pub(crate) fn new(decision: Decision, timeout: Duration, done: Done) -> Self {
        let timeout = timeout.min(LONGEST_TIMEOUT);
        let expires = clock::now().saturating_add(Micros::try_from(timeout.as_micros()).unwrap_or(Micros::MAX));
        Self::until(decision, Instant::now() + timeout, expires, None, done)
    }

    /// The share of one server in a job that takes several.
    pub(super) fn share(whole: &Arc<Self>, decision: Decision, done: Done) -> Self {
        Self::until(decision, whole.deadline, whole.expires, Some(whole.clone()), done)
    }

    /// One that is for this server and no other.
    pub(super) fn staying(self) -> Self {
        self.hops.store(MOST_HOPS, Ordering::Relaxed);
        self
    }

    fn until(decision: Decision, deadline: Instant, expires: Micros, whole: Option<Arc<Self>>, done: Done) -> Self {
        Self {
            decision,
            deadline,
            expires,
            hops: AtomicU8::new(0),
            held: AtomicU32::new(0),
            whole,
            done: Mutex::new(Some(done)),
        }
    }

    pub(crate) fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Completes the job; true if it was not complete before.
    pub(crate) fn finish(&self, answer: Answer) -> bool {
        let done = self.lock().take();
        let first = done.is_some();
        if let Some(done) = done {
            // A caller that panics has nobody to blame but itself; the task that tells it serves others as well.
            let _ = catch_unwind(AssertUnwindSafe(|| done(self, answer)));
        }
        first
    }

    /// Finishes it at its deadline, where no queue of deadlines does.
    pub(super) async fn expire(self: Arc<Self>) {
        sleep_until(self.deadline).await;
        self.fail(Failure::Timeout);
    }

    /// From now on it waits for nothing but replicas.
    pub(super) fn hold(&self) {
        self.held.fetch_add(1, Ordering::Relaxed);
        self.whole.iter().for_each(|whole| whole.hold());
    }

    /// Enough replicas have it.
    pub(super) fn release(&self) {
        self.held.fetch_sub(1, Ordering::Relaxed);
        self.whole.iter().for_each(|whole| whole.release());
    }

    /// Finishes it without an answer, because of this, or for want of replicas where it waited for nothing else.
    pub(crate) fn fail(&self, failure: Failure) {
        let failure = if self.held.load(Ordering::Relaxed) > 0 { Failure::Unreplicated } else { failure };
        self.finish(Err(failure));
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Done>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if it may be sent on once more.
    pub(super) fn may_hop(&self) -> bool {
        self.hops.fetch_add(1, Ordering::Relaxed) < MOST_HOPS
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.fail(Failure::Disconnected);
    }
}
