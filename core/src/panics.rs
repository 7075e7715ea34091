//! Panics at chosen points, in the build that tests what becomes of them: `make panics`.
//!
//! In every other build a point is nothing.

#[cfg(all(tidegate_panic, not(debug_assertions)))]
compile_error!("tidegate_panic is for the test of panics, not for a release");

/// Panics if the environment says so of this point.
#[cfg(tidegate_panic)]
pub(crate) fn point(name: &str) {
    assert!(std::env::var("TIDEGATE_PANIC").as_deref() != Ok(name), "a panic at the point {name}");
}

/// Nothing.
#[cfg(not(tidegate_panic))]
#[inline]
pub(crate) const fn point(_name: &str) {}
