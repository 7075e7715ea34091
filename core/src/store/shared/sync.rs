//! The atomics, which a test in every order of steps replaces.

pub(super) use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};
