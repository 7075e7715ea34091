//! Stores that are asked over a network.

pub(crate) mod background;
mod deny_cache;
mod on_error;
mod stats;

pub(crate) use background::handle as background;
pub(crate) use deny_cache::{DenyCache, DenyKey, Since};
pub use on_error::OnError;
pub(crate) use stats::Stats;
pub use stats::{BreakerState, Latency, Statistics};
