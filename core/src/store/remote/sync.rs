//! Atomics, locks and threads of the hand-made parts, which a test replaces to try every order of their steps.

pub(super) use std::sync::OnceLock;
pub(super) use std::sync::atomic::{AtomicU64, Ordering};
pub(super) use std::thread::{Thread, current, park_timeout};
