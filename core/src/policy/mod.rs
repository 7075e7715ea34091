//! Fallback policies and the deny cache.

mod deny_cache;
mod on_error;

pub(crate) use deny_cache::{DenyCache, DenyKey, Since};
pub use on_error::OnError;
