//! What a limiter does about a store that is not there, and how it spares one that is.

mod deny_cache;
mod on_error;

pub(crate) use deny_cache::{DenyCache, Question, Since};
pub use on_error::OnError;
