//! Replies for an event loop, through its bridge.

mod acquire;
pub(crate) mod bridge;
mod registry;

pub(crate) use acquire::AcquireHandle;
pub(crate) use registry::after_fork;
