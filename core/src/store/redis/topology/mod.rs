//! The servers of a store, and the choice of the one that decides.

mod cluster;
pub(super) mod cluster_map;
pub(super) mod replicas;
pub(super) mod reroute;
pub(super) mod scattered;
mod share;

use std::sync::Arc;

use self::cluster::Cluster;
use self::reroute::NoOthers;
use crate::failure::Failure;
use crate::store::redis::connection::Connection;
use crate::store::redis::connection::message::Message;
use crate::store::redis::context::Context;
use crate::store::redis::settings::address::Address;
use crate::store::redis::settings::endpoint::Endpoint;
use crate::store::remote::Job;

/// All the servers of a store, driven by one runtime.
pub(crate) struct Topology {
    kind: Kind,
    context: Arc<Context>,
}

enum Kind {
    One(Connection),
    /// One server, or a cluster if it turns out to be a node of one.
    Unknown(Connection, Arc<Cluster>),
    Cluster(Arc<Cluster>),
}

/// The servers as far as they are known by now.
enum Current<'a> {
    One(&'a Connection),
    Cluster(&'a Cluster),
}

impl Topology {
    /// Starts the tasks that keep the connections, which begin to connect. They end when this is dropped.
    pub(crate) fn start(address: &Address, context: &Arc<Context>) -> Self {
        let single = |endpoint| Kind::One(Connection::start(endpoint, context.clone(), Arc::new(NoOthers)));
        let kind = match address.clone() {
            Address::Server(info) => match Endpoint::seed(&info).filter(|_| context.suits_clusters()) {
                Some(seed) => {
                    // Who writes the URL of one node may not know that there are others.
                    let cluster = Cluster::start_asleep(vec![seed], (*info).clone(), context.clone());
                    let router = Arc::new(Arc::downgrade(&cluster));
                    let connection =
                        Connection::start(Endpoint::server(*info, context.handshake()), context.clone(), router);
                    Kind::Unknown(connection, cluster)
                }
                None => single(Endpoint::server(*info, context.handshake())),
            },
            Address::Sentinels { sentinels, service, template } => {
                single(Endpoint::primary(sentinels, service, *template, context.handshake()))
            }
            Address::Cluster { seeds, template } => Kind::Cluster(Cluster::start(seeds, *template, context.clone())),
        };
        Self { kind, context: context.clone() }
    }

    /// Takes a job over, or says at once why not.
    pub(crate) fn dispatch(&self, job: Arc<Job>) -> Result<(), Failure> {
        let message = Message { job, asking: false };
        match self.current() {
            Current::One(connection) => connection.send(message),
            Current::Cluster(cluster) => cluster.send(message),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        match self.current() {
            Current::One(connection) => connection.is_open(),
            Current::Cluster(cluster) => cluster.is_open(),
        }
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(crate) fn is_dead(&self) -> bool {
        match self.current() {
            Current::One(connection) => connection.is_dead(),
            Current::Cluster(cluster) => cluster.is_dead(),
        }
    }

    pub(crate) fn is_sharded(&self) -> bool {
        matches!(self.current(), Current::Cluster(_))
    }

    fn current(&self) -> Current<'_> {
        match &self.kind {
            Kind::Cluster(cluster) => Current::Cluster(cluster),
            Kind::Unknown(_, cluster) if cluster.is_awake() => Current::Cluster(cluster),
            Kind::One(connection) | Kind::Unknown(connection, _) => Current::One(connection),
        }
    }
}
