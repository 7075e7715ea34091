//! The suite that every store passes: in memory, Redis in each of its forms, and a store of the test's own that speaks
//! lines of text over TCP.
#![allow(missing_docs, reason = "a test")]

#[cfg(feature = "redis")]
#[path = "../servers/mod.rs"]
mod servers;

#[cfg(feature = "redis")]
mod faults;
#[cfg(feature = "redis")]
mod line;
mod memory;
#[cfg(feature = "redis")]
mod redis;
mod suite;
mod vectors;

use tidegate::{Limit, Limiter};

/// A store under test.
pub(crate) trait Subject {
    /// Two limiters over the same entries, as two processes would have them. No other limiter shares these.
    fn limiters(&self) -> [Limiter; 2];

    /// A limiter whose entries no other limiter shares.
    fn limiter(&self) -> Limiter {
        let [limiter, _] = self.limiters();
        limiter
    }

    /// True if the store can keep this limit.
    fn keeps(&self, limit: &Limit) -> bool {
        let _ = limit;
        true
    }
}

/// The tests of the suite, for the subject that an expression makes.
#[macro_export]
macro_rules! conforms {
    ($subject:expr, $($module:ident { $($test:ident)* })*) => { $($(
        #[test]
        fn $test() {
            $crate::$module::$test(&$subject);
        }
    )*)* };
}
