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
    Cluster(Arc<Cluster>),
}

impl Topology {
    /// Starts the tasks that keep the connections, which begin to connect. They end when this is dropped.
    pub(crate) fn start(address: &Address, context: &Arc<Context>, runtime: &Handle, is_background: bool) -> Self {
        let _entered = runtime.enter();
        let single = |target| Servers::One(Link::start(target, context.clone(), Router::none()));
        let servers = match address.clone() {
            Address::Server(info) => single(Target::server(*info, context.greeting())),
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
        match &self.servers {
            Servers::One(link) => link.send(message),
            Servers::Cluster(cluster) => cluster.send(message),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        match &self.servers {
            Servers::One(link) => link.is_open(),
            Servers::Cluster(cluster) => cluster.is_open(),
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
        match &self.servers {
            Servers::One(link) => link.is_dead(),
            Servers::Cluster(cluster) => cluster.is_dead(),
        }
    }

    pub(crate) fn is_sharded(&self) -> bool {
        matches!(self.servers, Servers::Cluster(_))
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
        self.0.strong_count() > 0
    }

    /// Something is not where it was.
    pub(super) fn refresh(&self) {
        if let Some(cluster) = self.0.upgrade() {
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
