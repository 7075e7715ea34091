//! A job as it travels between the tasks of a store.

use std::sync::Arc;

use crate::store::remote::Job;

/// A job, and whether it was sent to this server for this once.
pub(super) struct Message {
    pub(super) job: Arc<Job>,
    pub(super) asking: bool,
}
