//! The reply to one group of decisions, and the decisions that are held until replicas have them.

use std::sync::Arc;

use tokio::time::Instant;

use crate::failure::Failure;
use crate::store::remote::{Job, Reply, Request};
use crate::time::Micros;

/// The reply to a group.
pub(crate) struct GroupReply {
    /// The server's time.
    pub(crate) server: Option<Micros>,
    /// The outcome of each decision; none where all callers are answered already, or the decisions are held.
    pub(crate) outcomes: Vec<Reply>,
    pub(crate) held: Vec<Pending>,
    /// The requests that give back what was charged too late for its caller.
    pub(crate) undone: Vec<Request>,
}

/// A decision that was made, and whose caller is answered when enough replicas have it.
pub(crate) struct Pending {
    job: Arc<Job>,
    outcome: Reply,
}

impl Pending {
    pub(crate) fn new(job: Arc<Job>, outcome: Reply) -> Self {
        job.hold();
        Self { job, outcome }
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.job.deadline
    }

    pub(crate) fn complete(self) {
        self.job.release();
        self.job.finish(Ok(self.outcome));
    }

    pub(crate) fn fail(self, failure: Failure) {
        self.job.finish(Err(failure));
    }
}
