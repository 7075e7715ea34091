//! A second implementation of remote stores: it decides in the process of its client, on values that a server keeps.

mod client;
mod server;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tidegate::remote::Settings;
use tidegate::{AnyStore, Limiter, OnError};

use self::client::LineStore;
use self::server::LineServer;
use crate::Subject;
use crate::faults::{DEADLINE, Faulty};
use crate::servers::proxy::Proxy;

struct Lines {
    server: LineServer,
    wire: Proxy,
    namespaces: AtomicUsize,
}

impl Lines {
    fn start() -> Self {
        let server = LineServer::start();
        Self { wire: Proxy::to(server.port), server, namespaces: AtomicUsize::new(0) }
    }
}

fn limiter(port: u16, policy: OnError, timeout: Duration) -> Limiter {
    let settings = Settings::default().timeout(timeout).on_error(policy);
    Limiter::new(AnyStore::remote(LineStore { port }, settings))
}

impl Subject for Lines {
    fn limiters(&self) -> [Limiter; 2] {
        let namespace = self.namespaces.fetch_add(1, Ordering::Relaxed).to_string();
        let limiter = || limiter(self.server.port, OnError::Raise, Duration::from_secs(10)).namespace(&namespace);
        [limiter(), limiter()]
    }
}

impl Faulty for Lines {
    fn wire(&self) -> &Proxy {
        &self.wire
    }

    fn over(&self, policy: OnError) -> Limiter {
        limiter(self.wire.port, policy, DEADLINE)
    }
}

crate::conforms!(Lines::start(),
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
    faults {
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
    }
);
