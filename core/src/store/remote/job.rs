//! A request on its way to a server and back.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::decide::Decision;
use super::reply::{Answer, Reply};
use super::request::Request;
use crate::clock;
use crate::failure::Failure;
use crate::time::Micros;

/// Called once with the outcome of a job, on the thread that talks to the store: it must not block.
pub(crate) type Done = Box<dyn FnOnce(&Job, Answer) + Send>;

/// The longest time that a caller waits for a decision.
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);

/// Times that a job may be sent on to another server before it is given up.
const MOST_HOPS: u8 = 5;

/// A request under way. The first to finish it, with a reply or at its deadline, decides the outcome; a job that is
/// dropped unfinished fails as for a connection that broke. So every call is answered.
pub struct Job {
    pub(crate) request: Request,
    /// The deadline of the caller, by the runtime's clock and by ours.
    pub(crate) deadline: Instant,
    pub(crate) expires: Micros,
    hops: AtomicU8,
    /// The number of servers that have decided, and wait for replicas.
    held: AtomicU32,
    /// The job that this one is a share of.
    whole: Option<Arc<Job>>,
    /// Until it is over.
    done: Mutex<Option<Done>>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("request", &self.request).field("expires", &self.expires).finish_non_exhaustive()
    }
}

impl Job {
    pub(crate) fn new(request: Request, timeout: Duration, done: Done) -> Self {
        let timeout = timeout.min(LONGEST_TIMEOUT);
        let expires = clock::now().saturating_add(Micros::try_from(timeout.as_micros()).unwrap_or(Micros::MAX));
        Self::until(request, Instant::now() + timeout, expires, None, done)
    }

    /// A job that no caller waits for.
    #[must_use]
    pub fn without_caller(request: Request) -> Self {
        Self::new(request, LONGEST_TIMEOUT, Box::new(|_, _| ()))
    }

    /// The share of one server in a job that takes several.
    pub(crate) fn share(whole: &Arc<Self>, request: Request, done: Done) -> Self {
        Self::until(request, whole.deadline, whole.expires, Some(whole.clone()), done)
    }

    /// One that is for this server and no other.
    pub(crate) fn staying(self) -> Self {
        self.hops.store(MOST_HOPS, Ordering::Relaxed);
        self
    }

    fn until(request: Request, deadline: Instant, expires: Micros, whole: Option<Arc<Self>>, done: Done) -> Self {
        Self {
            request,
            deadline,
            expires,
            hops: AtomicU8::new(0),
            held: AtomicU32::new(0),
            whole,
            done: Mutex::new(Some(done)),
        }
    }

    /// The request to decide.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The time until its deadline.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Completes the job with this decision, whose writes have been made. Where the job was over before, its caller has
    /// had another answer, and the result is the request that gives back what was charged.
    #[must_use = "a charge without an answer has to be undone"]
    pub fn complete(&self, decision: Decision) -> Option<Request> {
        self.reply(decision.reply)
    }

    /// [`complete`](Self::complete) with the reply of a server that decides by itself.
    pub(crate) fn reply(&self, reply: Reply) -> Option<Request> {
        let done = self.lock().take();
        let Some(done) = done else { return self.request.undo_of(&reply) };
        self.call_back(done, Ok(reply));
        None
    }

    /// Completes the job; true if it was not complete before.
    pub(crate) fn finish(&self, answer: Answer) -> bool {
        let done = self.lock().take();
        let first = done.is_some();
        if let Some(done) = done {
            self.call_back(done, answer);
        }
        first
    }

    fn call_back(&self, done: Done, answer: Answer) {
        // A callback that panics ends nothing but itself: this task serves other calls as well.
        let _ = catch_unwind(AssertUnwindSafe(|| done(self, answer)));
    }

    /// Fails the job at its deadline, unless it is over by then.
    pub async fn expire(self: Arc<Self>) {
        sleep_until(self.deadline).await;
        self.fail(Failure::Timeout);
    }

    /// From now on it waits for nothing but replicas.
    pub(crate) fn hold(&self) {
        self.held.fetch_add(1, Ordering::Relaxed);
        self.whole.iter().for_each(|whole| whole.hold());
    }

    /// Enough replicas have it.
    pub(crate) fn release(&self) {
        self.held.fetch_sub(1, Ordering::Relaxed);
        self.whole.iter().for_each(|whole| whole.release());
    }

    /// Fails the job because of this, or for want of replicas where it waited for nothing else.
    pub fn fail(&self, failure: Failure) {
        let failure = if self.held.load(Ordering::Relaxed) > 0 { Failure::Unreplicated } else { failure };
        self.finish(Err(failure));
    }

    /// True once it has an outcome.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.lock().is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Done>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if it may be sent on once more.
    pub(crate) fn may_hop(&self) -> bool {
        self.hops.fetch_add(1, Ordering::Relaxed) < MOST_HOPS
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.fail(Failure::Disconnected);
    }
}
