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
#[cfg(all(feature = "shm", target_os = "linux"))]
mod shared;
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

/// The tests of these parts, for the subject that an expression makes. A part is said by its name, or test by test.
#[macro_export]
macro_rules! conforms {
    ($subject:expr, vectors $($rest:tt)*) => {
        $crate::conforms!($subject, in vectors {
            one_limit_at_a_time
            definitions_and_factors_that_change
            several_limits_together
            as_much_as_there_is_room_for
            units_are_held_released_and_renewed
            receipts_are_used_once
        } $($rest)*);
    };
    ($subject:expr, suite $($rest:tt)*) => {
        $crate::conforms!($subject, in suite {
            several_checks_are_all_charged_or_none
            calls_at_once_are_charged_each
            several_limits_are_reset_together
            a_reset_removes_every_shape_of_a_key
            namespaces_are_apart
            a_call_that_cannot_be_decided_charges_nothing
            an_actor_that_is_too_long_is_refused_by_every_call
            an_observed_check_is_charged_beside_a_denial_and_denied_beside_an_admission
            an_observed_check_alone_limits_nothing
            a_receipt_gives_back_what_observed_checks_charged
            an_overflow_charges_no_observed_check
            an_observed_check_that_overflows_is_denied_alone
            a_limit_that_is_listed_twice_is_observed_once
            a_denied_part_that_was_charged_is_given_back_and_no_more
        } $($rest)*);
    };
    ($subject:expr, faults $($rest:tt)*) => {
        $crate::conforms!($subject, in faults {
            a_server_that_hangs_costs_a_deadline_and_the_policy_answers
            nobody_has_to_be_there_at_first
            an_answer_that_comes_too_late_leaves_no_charge
            a_request_that_comes_too_late_is_not_charged
            a_receipt_whose_use_may_have_happened_is_used_up
            a_charge_is_given_back_where_it_was_made
            an_acquire_that_was_answered_is_called_off_once
            an_acquire_that_this_process_answered_is_given_back_here
            a_denial_is_remembered_until_it_is_given_back
            a_store_that_is_fit_says_so_and_can_be_cleared
        } $($rest)*);
    };
    ($subject:expr, in $module:ident { $($test:ident)* } $($rest:tt)*) => {
        $(
            #[test]
            fn $test() {
                $crate::$module::$test(&$subject);
            }
        )*
        $crate::conforms!($subject, $($rest)*);
    };
    ($subject:expr,) => {};
}
