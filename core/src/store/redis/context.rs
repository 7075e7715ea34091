//! Settings and reports shared by all connections of a store.

use std::fmt::Display;
use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::Pipeline;

use super::advice::advised;
use super::connection::handshake::Handshake;
use super::protocol::encode::encode;
use super::protocol::keys::both;
use super::protocol::layout::{Layout, Strategy};
use super::protocol::script::SOURCE;
use super::settings::Settings;
use crate::algorithm::{LevelRule, Rule};
use crate::decision::Verb;
use crate::events::EventKind;
use crate::failure::Failure;
use crate::store::remote::{Part, Request, Session};

/// The size of the entry that probes use.
const PROBED: u64 = 1000;
/// The shortest timeout for connecting, which takes several round trips and holds up no decision.
const LEAST_CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

pub(crate) struct Context {
    pub(super) session: Session,
    strategy: Strategy,
    replicas: u32,
    layout: Layout,
    eviction_reported: AtomicBool,
    unverified_reported: AtomicBool,
    cluster_reported: AtomicBool,
    is_unverified: bool,
}

impl Context {
    pub(super) fn new(settings: &Settings, session: Session) -> Self {
        Self {
            session,
            strategy: settings.strategy,
            replicas: settings.wait_replicas,
            layout: settings.layout(),
            eviction_reported: AtomicBool::new(false),
            unverified_reported: AtomicBool::new(false),
            cluster_reported: AtomicBool::new(false),
            is_unverified: settings.is_unverified(),
        }
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(super) fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The number of replicas that must have a charge before its caller is answered.
    pub(super) fn replicas(&self) -> u32 {
        self.replicas
    }

    /// A decision like any other, on an entry of its own in this slot, which drains within a millisecond.
    pub(super) fn probing(&self, slot: Option<u16>) -> Request {
        let bucket = LevelRule::new(PROBED, 1000, PROBED);
        let part = Part {
            rule: Rule::Level(bucket),
            cost: 1,
            at_least: 0,
            spent: 0,
            charged_at: None,
            entry: 0,
            observed: None,
        };
        let entries = iter::once(self.layout.mark(self.session.namespace(), slot)).collect();
        let probing = Request::new(Verb::Limit, entries, iter::once(part).collect(), None);
        probing.map_or_else(
            |_| self.session.probe().clone(),
            |probing| probing.of_resolution(self.session.probe().resolution),
        )
    }

    pub(super) fn timeout(&self) -> Duration {
        self.session.timeout()
    }

    pub(super) fn connect_timeout(&self) -> Duration {
        (self.timeout() * 4).max(LEAST_CONNECT_TIMEOUT)
    }

    /// The commands that begin a connection: the first reply has the kind of server, the last ones whether it
    /// decides, what it evicts, and the time.
    pub(super) fn handshake(&self) -> Pipeline {
        let mut handshake = Pipeline::new();
        handshake.cmd("HELLO");
        handshake.cmd("CLIENT").arg("SETINFO").arg("LIB-NAME").arg("tidegate");
        handshake.cmd("CLIENT").arg("SETINFO").arg("LIB-VER").arg(env!("CARGO_PKG_VERSION"));
        match self.strategy {
            Strategy::Script => {
                handshake.cmd("SCRIPT").arg("LOAD").arg(SOURCE);
                handshake.add_command(encode([(self.session.probe(), 0)], self.layout, 0).command(false));
            }
            Strategy::Transactions => {
                for key in self.session.probe().entries().iter().flat_map(both) {
                    handshake.cmd("EXPIRE").arg(key.as_ref()).arg(0);
                }
            }
        }
        handshake.cmd("CONFIG").arg("GET").arg("maxmemory-policy");
        handshake.cmd("TIME");
        handshake
    }

    /// True if a cluster can be used with this layout.
    pub(super) fn suits_clusters(&self) -> bool {
        self.layout == Layout::Own
    }

    /// Reports the properties of a server that operators should know.
    pub(super) fn on_handshake(&self, server: &dyn Display, said: &Handshake) {
        if self.is_unverified && !self.unverified_reported.swap(true, Ordering::Relaxed) {
            let why = "any certificate is accepted (ssl_cert_reqs=none), so anyone on the network path can read the \
                password and answer in its place";
            self.session.report(EventKind::Unverified, server, why);
        }
        if let Some(why) = said.eviction()
            && !self.eviction_reported.swap(true, Ordering::Relaxed)
        {
            self.session.report(EventKind::Eviction, server, &why);
        }
        if let Some((failure, why)) = &said.refusal {
            self.fault(server, *failure, why);
        }
    }

    pub(super) fn is_unverified(&self) -> bool {
        self.is_unverified
    }

    /// A server turned out to be a node of a cluster, and is used as one.
    pub(super) fn is_node(&self, server: &dyn Display) {
        if !self.cluster_reported.swap(true, Ordering::Relaxed) {
            let why = "all its nodes are used; say so by redis+cluster:// in the URL, with several of them";
            self.session.report(EventKind::Cluster, server, why);
        }
    }

    /// Reports that a server is not asked for now.
    pub(super) fn opened(&self, server: &dyn Display, failure: Failure, why: &str) {
        self.session.opened(server, failure, &advised(why));
    }

    /// Reports that a server decides again.
    pub(super) fn closed(&self, server: &dyn Display) {
        self.session.closed(server);
    }

    /// Reports a failure that does not stop the server from being asked, once a minute.
    pub(super) fn fault(&self, server: &dyn Display, failure: Failure, why: &str) {
        self.session.failed(server, failure, &advised(why));
    }
}
