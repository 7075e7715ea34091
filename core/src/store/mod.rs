//! Stores: the entries between decisions.

pub(crate) mod memory;
#[cfg(feature = "redis")]
pub(crate) mod options;
#[cfg(feature = "redis")]
pub(crate) mod redis;
#[cfg(feature = "redis")]
pub(crate) mod remote;
