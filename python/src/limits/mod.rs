//! Definitions as classes.

mod base;
mod generated;
mod limit;

pub(crate) use base::Limit;
pub(crate) use generated::add;
pub(crate) use limit::items;
