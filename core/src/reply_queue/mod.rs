//! The reply queue of a host language's thread, for the bindings.

mod queue;

pub use self::queue::{ReplyQueue, Wake};

/// The locks, in whose place a test puts those of its own, to try every order of their steps.
mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
}
