//! Counts of one limit, which any thread may add to.

use std::sync::atomic::{AtomicU64, Ordering};

/// Defines [`Tally`], its counts by name, and [`Counted`], the numbers that were read of it.
macro_rules! tally {
    ($($(#[doc = $about:literal])+ $count:ident,)+) => {
        /// Counts of the calls of one limit.
        #[derive(Debug, Default)]
        pub(crate) struct Tally {
            $($(#[doc = $about])+ pub(crate) $count: Count,)+
        }

        /// The numbers of a [`Tally`] at one time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct Counted {
            $(pub(crate) $count: u64,)+
        }

        impl Tally {
            pub(crate) fn read(&self) -> Counted {
                Counted { $($count: self.$count.0.load(Ordering::Relaxed),)+ }
            }
        }
    };
}

tally! {
    /// Calls that it admitted.
    allowed,
    /// Calls that it denied.
    denied,
    /// Calls that ended in an error.
    failed,
    /// Calls that it admitted, and that left less than a fifth of it.
    near,
    /// Calls that it would have admitted, where it was observed.
    observed_allowed,
    /// Calls that it would have denied, where it was observed.
    observed_denied,
    /// Calls that waited for their turn.
    waits,
    /// The time for which they waited, in milliseconds.
    waited_ms,
    /// Units that were taken to be held.
    held,
    /// Units that were released.
    released,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }
}
