//! Definitions as classes.

mod base;
#[allow(clippy::too_many_arguments, reason = "a class takes each field of its definition")]
mod generated;
mod limit;

pub(crate) use base::Limit;
pub(crate) use generated::add;
pub(crate) use limit::items;
