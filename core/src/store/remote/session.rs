//! The part of a process's state that a store works with: its deadline, its runtime, and its reports.

use std::fmt::{self, Display};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

use super::background;
use super::job::LONGEST_TIMEOUT;
use super::reports::Reports;
use super::request::Request;
use super::stats::Stats;
use crate::events::EventKind;
use crate::failure::Failure;

/// The session of a store on one runtime of one process.
#[derive(Clone)]
pub struct Session {
    pub(super) stats: Arc<Stats>,
    pub(super) reports: Arc<Reports>,
    pub(super) timeout: Duration,
    pub(super) namespace: String,
    pub(super) probe: Request,
    pub(super) runtime: Handle,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("timeout", &self.timeout)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// The timeout of a decision.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout.min(LONGEST_TIMEOUT)
    }

    /// The runtime that drives the store's tasks.
    #[must_use]
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// True for a runtime that may stand still between two calls, because its callers alone drive it.
    pub(crate) fn may_stand_still(&self) -> bool {
        self.runtime.runtime_flavor() == RuntimeFlavor::CurrentThread && !background::is(&self.runtime)
    }

    /// The namespace of the store.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// A request that changes nothing, but needs all that a charge needs of a server.
    #[must_use]
    pub fn probe(&self) -> &Request {
        &self.probe
    }

    /// Counts requests that are sent together.
    pub fn sent(&self, requests: usize) {
        self.stats.sent(requests);
    }

    /// Reports that a server is not asked for now, because it failed.
    pub fn opened(&self, server: &dyn Display, failure: Failure, why: &str) {
        self.reports.opened(server, failure, why);
    }

    /// Reports that a server is asked again.
    pub fn closed(&self, server: &dyn Display) {
        self.reports.closed(server);
    }

    /// Reports a failure that does not stop a server from being asked, once a minute for each kind.
    pub fn failed(&self, server: &dyn Display, failure: Failure, why: &str) {
        self.reports.failed(server, failure, why);
    }

    pub(crate) fn report(&self, kind: EventKind, server: &dyn Display, why: &str) {
        self.reports.report(kind, server, why);
    }
}
