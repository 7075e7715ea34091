//! Stores: the entries between decisions.

#[cfg(feature = "redis")]
pub(crate) mod dialect;
pub(crate) mod memory;
#[cfg(feature = "redis")]
pub(crate) mod option_list;
#[cfg(feature = "redis")]
pub(crate) mod options;
#[cfg(feature = "redis")]
pub(crate) mod redis;
#[cfg(feature = "remote")]
pub(crate) mod remote;
#[cfg(all(feature = "shm", target_os = "linux"))]
pub(crate) mod shared;
