//! Redis: a server by its script, one by transactions, and a cluster.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tidegate::limits::Kind;
use tidegate::redis::{RedisBuilder, Strategy};
use tidegate::remote::OnError;
use tidegate::{Limit, Limiter, Redis};

use crate::Subject;
use crate::faults::{DEADLINE, Faulty};
use crate::servers::proxy::Proxy;
use crate::servers::{Cluster, Server};

struct Single {
    server: Server,
    wire: Proxy,
    strategy: Strategy,
    namespaces: AtomicUsize,
}

impl Single {
    fn start(strategy: Strategy) -> Self {
        let server = Server::start();
        Self { wire: Proxy::to(server.port), server, strategy, namespaces: AtomicUsize::new(0) }
    }

    fn store(&self, url: &str, policy: OnError, timeout: Duration) -> RedisBuilder {
        let store = Redis::builder(url).timeout(timeout).on_error(policy);
        store.strategy(self.strategy)
    }
}

impl Subject for Single {
    fn limiters(&self) -> [Limiter; 2] {
        let namespace = self.namespaces.fetch_add(1, Ordering::Relaxed).to_string();
        let limiter = || {
            Limiter::new(
                self.store(&self.server.url(), OnError::Raise, Duration::from_secs(10)).build().expect("a store"),
            )
        };
        [limiter().namespace(&namespace), limiter().namespace(&namespace)]
    }

    fn keeps(&self, limit: &Limit) -> bool {
        self.strategy == Strategy::Script || matches!(limit.kind(), Kind::Bucket(_))
    }
}

impl Faulty for Single {
    fn wire(&self) -> &Proxy {
        &self.wire
    }

    fn over(&self, policy: OnError) -> Limiter {
        Limiter::new(self.store(&self.wire.url(), policy, DEADLINE).build().expect("a store"))
    }
}

impl Subject for Cluster {
    fn limiters(&self) -> [Limiter; 2] {
        static NAMESPACES: AtomicUsize = AtomicUsize::new(0);
        let namespace = NAMESPACES.fetch_add(1, Ordering::Relaxed).to_string();
        let store = || Redis::builder(&self.url()).timeout(Duration::from_secs(10));
        let limiter = || Limiter::new(store().on_error(OnError::Raise).build().expect("a store")).namespace(&namespace);
        [limiter(), limiter()]
    }
}

mod script {
    use super::*;

    crate::conforms!(Single::start(Strategy::Script), vectors suite faults);
}

/// Instants are whole milliseconds there, so that the golden answers are not its own; and calls of several processes at
/// once may overfill a bucket.
mod transactions {
    use super::*;

    crate::conforms!(Single::start(Strategy::Transactions),
        in suite {
            several_checks_are_all_charged_or_none
            several_limits_are_reset_together
            namespaces_are_apart
            a_call_that_cannot_be_decided_charges_nothing
            an_observed_check_is_charged_beside_a_denial_and_denied_beside_an_admission
            an_observed_check_alone_limits_nothing
            a_receipt_gives_back_what_observed_checks_charged
            an_overflow_charges_no_observed_check
            an_observed_check_that_overflows_is_denied_alone
        }
        faults
    );
}

mod cluster {
    use super::*;

    #[test]
    fn passes_what_needs_no_wire() {
        let cluster = Cluster::start(0);
        crate::vectors::one_limit_at_a_time(&cluster);
        crate::vectors::several_limits_together(&cluster);
        crate::vectors::receipts_are_used_once(&cluster);
        crate::suite::several_checks_are_all_charged_or_none(&cluster);
        crate::suite::calls_at_once_are_charged_each(&cluster);
        crate::suite::several_limits_are_reset_together(&cluster);
        crate::suite::a_call_that_cannot_be_decided_charges_nothing(&cluster);
        crate::suite::an_observed_check_is_charged_beside_a_denial_and_denied_beside_an_admission(&cluster);
        crate::suite::a_receipt_gives_back_what_observed_checks_charged(&cluster);
        crate::suite::an_overflow_charges_no_observed_check(&cluster);
        crate::suite::an_observed_check_that_overflows_is_denied_alone(&cluster);
    }
}
