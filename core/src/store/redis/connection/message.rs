//! A job as it travels between the tasks of a store.

use std::sync::Arc;

use crate::store::remote::Job;

/// A job, and whether it was sent to this server for this once.
pub(crate) struct Message {
    pub(crate) job: Arc<Job>,
    pub(crate) asking: bool,
}
