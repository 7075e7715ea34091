//! The store in this process's memory.

use tidegate::{Limiter, Memory};

use crate::Subject;

struct InMemory;

impl Subject for InMemory {
    fn limiters(&self) -> [Limiter; 2] {
        let limiter = Limiter::new(Memory::new());
        [limiter.clone(), limiter]
    }
}

crate::conforms!(InMemory,
    vectors {
        one_limit_at_a_time
        definitions_and_factors_that_change
        several_limits_together
        receipts_are_used_once
    }
    suite {
        several_checks_are_all_charged_or_none
        calls_at_once_are_charged_each
        several_limits_are_reset_together
        a_reset_removes_every_shape_of_a_key
        namespaces_are_apart
        a_call_that_cannot_be_decided_charges_nothing
    }
);
