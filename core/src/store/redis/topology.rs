//! Which server decides what.

use std::sync::{Arc, Weak};

use tokio::runtime::Handle;

use super::address::Address;
use super::cluster::Cluster;
use super::context::Context;
use super::job::Job;
use super::link::{Link, Message};
use super::target::Target;
use crate::failure::Failure;

/// All the servers of a store, driven by one runtime.
pub(crate) struct Topology {
    servers: Servers,
    runtime: tokio::runtime::Id,
    /// That runtime is the process's own.
    is_background: bool,
}

enum Servers {
    One(Link),
    /// One server, or a cluster if it turns out to be a node of one.
    Unknown(Link, Arc<Cluster>),
    Cluster(Arc<Cluster>),
}

/// What is known of the servers by now.
enum Current<'a> {
    One(&'a Link),
    Cluster(&'a Cluster),
}

impl Topology {
    /// Starts the tasks that keep the connections, which begin to connect. They end when this is dropped.
    pub(crate) fn start(address: &Address, context: &Arc<Context>, runtime: &Handle, is_background: bool) -> Self {
        let _entered = runtime.enter();
        let single = |target| Servers::One(Link::start(target, context.clone(), Router::none()));
        let servers = match address.clone() {
            Address::Server(info) => match Target::seed(&info).filter(|_| context.suits_clusters()) {
                Some(seed) => {
                    // Who writes the URL of one node may not know that there are others.
                    let cluster = Cluster::start_asleep(vec![seed], (*info).clone(), context.clone());
                    let router = Router::through(&Arc::downgrade(&cluster));
                    let link = Link::start(Target::server(*info, context.greeting()), context.clone(), router);
                    Servers::Unknown(link, cluster)
                }
                None => single(Target::server(*info, context.greeting())),
            },
            Address::Sentinels { sentinels, service, template } => {
                single(Target::primary(sentinels, service, *template, context.greeting()))
            }
            Address::Cluster { seeds, template } => Servers::Cluster(Cluster::start(seeds, *template, context.clone())),
        };
        Self { servers, runtime: runtime.id(), is_background }
    }

    /// Takes a job over, or says at once why not.
    pub(crate) fn send(&self, job: Arc<Job>) -> Result<(), Failure> {
        let message = Message { job, asking: false };
        match self.current() {
            Current::One(link) => link.send(message),
            Current::Cluster(cluster) => cluster.send(message),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        match self.current() {
            Current::One(link) => link.is_open(),
            Current::Cluster(cluster) => cluster.is_open(),
        }
    }

    pub(crate) fn runtime(&self) -> tokio::runtime::Id {
        self.runtime
    }

    pub(crate) fn is_background(&self) -> bool {
        self.is_background
    }

    /// Whether this runtime drives it, and still does.
    pub(crate) fn is_driven_by(&self, runtime: &Handle) -> bool {
        self.runtime == runtime.id() && !self.is_dead()
    }

    pub(crate) fn is_dead(&self) -> bool {
        match self.current() {
            Current::One(link) => link.is_dead(),
            Current::Cluster(cluster) => cluster.is_dead(),
        }
    }

    pub(crate) fn is_sharded(&self) -> bool {
        matches!(self.current(), Current::Cluster(_))
    }

    fn current(&self) -> Current<'_> {
        match &self.servers {
            Servers::Cluster(cluster) => Current::Cluster(cluster),
            Servers::Unknown(_, cluster) if cluster.is_awake() => Current::Cluster(cluster),
            Servers::One(link) | Servers::Unknown(link, _) => Current::One(link),
        }
    }
}

/// The way from a server to the others.
#[derive(Clone)]
pub(super) struct Router(Weak<Cluster>);

impl Router {
    fn none() -> Self {
        Self(Weak::new())
    }

    pub(super) fn through(cluster: &Weak<Cluster>) -> Self {
        Self(cluster.clone())
    }

    /// Whether there are others, which may be in charge of what one server was.
    pub(super) fn leads_elsewhere(&self) -> bool {
        self.0.upgrade().is_some_and(|cluster| cluster.is_awake())
    }

    /// The server that was asked is a node of this cluster; false where there cannot be one.
    pub(super) fn begin(&self) -> bool {
        self.0.upgrade().is_some_and(|cluster| {
            cluster.wake();
            true
        })
    }

    /// Something is not where it was.
    pub(super) fn refresh(&self) {
        if let Some(cluster) = self.0.upgrade().filter(|cluster| cluster.is_awake()) {
            cluster.refresh();
        }
    }

    /// Sends a job to the server that another one named.
    pub(super) fn redirect(&self, to: &(String, u16), message: Message) {
        match self.0.upgrade() {
            Some(cluster) => cluster.redirect(to, message),
            None => drop(message.job.finish(Err(Failure::Other))),
        }
    }

    /// Sends a job to whoever is in charge of it now.
    pub(super) fn again(&self, message: Message) {
        let job = message.job.clone();
        let sent = self.0.upgrade().map_or(Err(Failure::Moving), |cluster| cluster.send(message));
        if let Err(fault) = sent {
            job.finish(Err(fault));
        }
    }
}
