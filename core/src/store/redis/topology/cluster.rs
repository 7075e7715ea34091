//! A cluster's map: which node has which slot, and a connection to each.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::select_ok;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::cluster_map::{NodeView, ask};
use super::reroute::{NoOthers, Reroute};
use crate::failure::Failure;
use crate::store::redis::connection::Connection;
use crate::store::redis::connection::error_action::unconnected;
use crate::store::redis::connection::message::Message;
use crate::store::redis::connection::rest::Rests;
use crate::store::redis::context::Context;
use crate::store::redis::protocol::keys::slot_of;
use crate::store::redis::settings::address::{Host, Target};
use crate::store::redis::settings::endpoint::Endpoint;
use crate::store::redis::settings::url::Node;

const SLOTS: usize = 16_384;
/// Between two looks at the map, at the least.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The server in events about all of them.
const THE_CLUSTER: &str = "the cluster";

pub(crate) struct Cluster {
    me: Weak<Cluster>,
    seeds: Vec<Node>,
    template: Target,
    context: Arc<Context>,
    map: Mutex<Map>,
    stale: Arc<Notify>,
    /// No node could be asked for the map.
    lost: AtomicBool,
    /// There is a cluster.
    awake: AtomicBool,
}

#[derive(Default)]
struct Map {
    connections: HashMap<Node, Arc<Connection>>,
    /// For each slot the index of its node; empty before the map is known.
    owners: Vec<Option<u16>>,
    /// Some slots have no node.
    has_gaps: bool,
    nodes: Vec<Node>,
    /// Every primary that the map knows, those without slots too. No other is ever connected to, as it would be sent the
    /// password.
    known: HashSet<Node>,
    /// Messages that came before the map was known.
    early: Vec<Message>,
    /// Messages that were redirected to a node that the map does not know, which the next look may.
    astray: Vec<(Node, Message)>,
    /// The task that keeps the map is gone.
    closed: bool,
}

/// The part of the task that keeps the map. When that ends, however it does, nothing is left waiting for the map.
struct MapTask(Weak<Cluster>);

impl Drop for MapTask {
    fn drop(&mut self) {
        if let Some(cluster) = self.0.upgrade() {
            let mut map = cluster.map();
            map.closed = true;
            let (early, astray) = (std::mem::take(&mut map.early), std::mem::take(&mut map.astray));
            drop(map);
            // Each is answered as it is dropped.
            drop((early, astray));
        }
    }
}

impl Cluster {
    pub(crate) fn start(seeds: Vec<Node>, template: Target, context: Arc<Context>) -> Arc<Self> {
        Self::begin(seeds, template, context, true)
    }

    /// One that may not be there, and is not looked for before it is known to be.
    pub(super) fn start_asleep(seeds: Vec<Node>, template: Target, context: Arc<Context>) -> Arc<Self> {
        Self::begin(seeds, template, context, false)
    }

    fn begin(seeds: Vec<Node>, template: Target, context: Arc<Context>, awake: bool) -> Arc<Self> {
        let stale = Arc::new(Notify::new());
        let cluster = Arc::new_cyclic(|me: &Weak<Self>| Self {
            me: me.clone(),
            seeds,
            template,
            context,
            map: Mutex::default(),
            stale: stale.clone(),
            lost: AtomicBool::new(false),
            awake: AtomicBool::new(awake),
        });
        if awake {
            cluster.refresh();
        }
        tokio::spawn(keep_map(MapTask(Arc::downgrade(&cluster)), stale));
        cluster
    }

    pub(crate) fn send(&self, message: Message) -> Result<(), Failure> {
        let slot = usize::from(slot_of(&message.job.request));
        let mut map = self.map();
        if map.closed {
            return Err(Failure::Unreachable);
        }
        if map.owners.is_empty() {
            if self.lost.load(Ordering::Relaxed) {
                return Err(Failure::Unavailable);
            }
            let job = message.job.clone();
            map.early.push(message);
            drop(map);
            self.context.session.runtime().spawn(job.expire());
            self.refresh();
            return Ok(());
        }
        let owner = map.owner(slot);
        drop(map);
        let Some(connection) = owner else {
            self.context.fault(&THE_CLUSTER, Failure::NotReady, "no node has the slot of a call");
            return Err(Failure::NotReady);
        };
        connection.send(message)
    }

    /// To the node that another one named, for good or for this once. One that the map does not know has to be in the
    /// next one.
    pub(crate) fn redirect(&self, to: &Node, message: Message) {
        let mut map = self.map();
        let job = message.job.clone();
        if map.closed {
            drop(map);
            job.finish(Err(Failure::Unreachable));
        } else if map.known.contains(to) {
            let connection = self.connection(&mut map, to);
            drop(map);
            if !message.asking {
                self.refresh();
            }
            if let Err(fault) = connection.send(message) {
                job.finish(Err(fault));
            }
        } else {
            map.astray.push((to.clone(), message));
            drop(map);
            self.context.session.runtime().spawn(job.expire());
            self.refresh();
        }
    }

    /// There is a cluster.
    pub(crate) fn wake(&self) {
        if !self.awake.swap(true, Ordering::Relaxed) {
            self.refresh();
        }
    }

    pub(super) fn is_awake(&self) -> bool {
        self.awake.load(Ordering::Relaxed)
    }

    pub(crate) fn refresh(&self) {
        self.stale.notify_one();
    }

    pub(crate) fn is_open(&self) -> bool {
        self.lost.load(Ordering::Relaxed) || self.map().connections.values().any(|connection| connection.is_open())
    }

    /// The task that keeps the map is gone, and with it the runtime.
    pub(crate) fn is_dead(&self) -> bool {
        self.map().closed
    }

    fn map(&self) -> MutexGuard<'_, Map> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Only ever asked for on the runtime, which drives the connection.
    fn connection(&self, map: &mut Map, node: &Node) -> Arc<Connection> {
        let start = || {
            let endpoint = Endpoint::node(self.template.at(&node.0, node.1), self.context.handshake());
            Arc::new(Connection::start(endpoint, self.context.clone(), Arc::new(self.me.clone())))
        };
        let connection = map.connections.entry(node.clone()).or_insert_with(start);
        if connection.is_dead() {
            *connection = start();
        }
        connection.clone()
    }

    /// Asks every node that is known at once, and believes the first that answers.
    async fn look(&self) {
        let mut nodes = self.map().nodes.clone();
        nodes.extend(self.seeds.iter().filter(|seed| !nodes.contains(seed)).cloned().collect::<Vec<_>>());
        let asked = nodes.iter().map(|node| Box::pin(ask(&self.template, node)));
        match timeout(self.context.connect_timeout(), select_ok(asked)).await {
            Ok(Ok((found, _))) => self.apply_map(found),
            Ok(Err(error)) => self.on_lost(unconnected(&error), &error.to_string()),
            Err(_) => self.on_lost(Failure::Unreachable, self.template.silence()),
        }
    }

    fn apply_map(&self, NodeView { ranges, known }: NodeView) {
        // One server that has a map is a node of a cluster, whatever it said before.
        self.awake.store(true, Ordering::Relaxed);
        let mut map = self.map();
        map.owners = vec![None; SLOTS];
        map.nodes.clear();
        for (first, last, node) in ranges {
            let index = map.nodes.iter().position(|known| *known == node).unwrap_or_else(|| {
                map.nodes.push(node.clone());
                map.nodes.len() - 1
            });
            let index = u16::try_from(index).ok();
            map.owners.get_mut(first..=last).into_iter().flatten().for_each(|owner| *owner = index);
            self.connection(&mut map, &node);
        }
        map.has_gaps = map.owners.contains(&None);
        map.known = known;
        let Map { connections, known, early, astray, .. } = &mut *map;
        // A connection that leaves the map finishes what is on its way, and sends on what is not.
        let gone: Vec<_> = connections.extract_if(|node, _| !known.contains(node)).collect();
        let (early, mut astray) = (std::mem::take(early), std::mem::take(astray));
        let strangers: Vec<_> = astray.extract_if(.., |(node, _)| !known.contains(node)).collect();
        drop(map);
        drop(gone);
        if self.lost.swap(false, Ordering::Relaxed) {
            self.context.closed(&THE_CLUSTER);
        }
        self.refuse(strangers);
        for (node, message) in astray {
            self.redirect(&node, message);
        }
        for message in early {
            let job = message.job.clone();
            if let Err(fault) = self.send(message) {
                job.finish(Err(fault));
            }
        }
    }

    fn on_lost(&self, failure: Failure, why: &str) {
        let mut map = self.map();
        let (early, astray) = (std::mem::take(&mut map.early), std::mem::take(&mut map.astray));
        let known = !map.owners.is_empty();
        drop(map);
        self.refuse(astray);
        // An old map is better than none; and where no cluster is known to be, none is lost.
        if !known && self.is_awake() && !self.lost.swap(true, Ordering::Relaxed) {
            self.context.opened(&THE_CLUSTER, failure, why);
        }
        for message in early {
            message.job.finish(Err(failure));
        }
    }

    /// Nobody is sent to a node that only a redirection names.
    fn refuse(&self, strangers: Vec<(Node, Message)>) {
        for ((host, port), message) in strangers {
            let why = format!("a redirection to {}, which is no node of the cluster's map", Host::Tcp(host, port));
            self.context.fault(&THE_CLUSTER, Failure::Moving, &why);
            message.job.finish(Err(Failure::Moving));
        }
    }

    /// Another look may find what this map lacks: a node has failed, or slots have none.
    fn is_in_doubt(&self) -> bool {
        self.is_open() || self.map().has_gaps
    }

    /// A look is wanted: there is a cluster, or something waits to know whether there is.
    fn wants_look(&self) -> bool {
        let map = self.map();
        self.is_awake() || !map.early.is_empty() || !map.astray.is_empty()
    }
}

impl Map {
    fn owner(&self, slot: usize) -> Option<Arc<Connection>> {
        let index = (*self.owners.get(slot)?)?;
        self.connections.get(self.nodes.get(usize::from(index))?).cloned()
    }
}

/// Looks at the map when something says that it is stale, and again and again while it is in doubt: each look connects to
/// every node, so they become rarer the longer that lasts.
async fn keep_map(task: MapTask, stale: Arc<Notify>) {
    let (mut doubted, mut rests) = (None, Rests::default());
    loop {
        let Some(in_doubt) = task.0.upgrade().map(|cluster| cluster.is_in_doubt()) else { return };
        if in_doubt {
            let since = *doubted.get_or_insert_with(Instant::now);
            let rest = rests.after(since.elapsed(), LOOK_EVERY).saturating_sub(LOOK_EVERY);
            drop(timeout(rest, stale.notified()).await);
        } else {
            doubted = None;
            stale.notified().await;
        }
        match task.0.upgrade() {
            Some(cluster) if cluster.wants_look() => cluster.look().await,
            Some(_) => continue,
            None => return,
        }
        sleep(LOOK_EVERY).await;
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stale.notify_one();
    }
}

impl Reroute for Weak<Cluster> {
    fn has_others(&self) -> bool {
        self.upgrade().is_some_and(|cluster| cluster.is_awake())
    }

    fn use_cluster(&self) -> bool {
        self.upgrade().is_some_and(|cluster| {
            cluster.wake();
            true
        })
    }

    fn refresh(&self) {
        if let Some(cluster) = self.upgrade().filter(|cluster| cluster.is_awake()) {
            cluster.refresh();
        }
    }

    fn redirect(&self, to: &Node, message: Message) {
        match self.upgrade() {
            Some(cluster) => cluster.redirect(to, message),
            None => NoOthers.redirect(to, message),
        }
    }

    fn resend(&self, message: Message) {
        let Some(cluster) = self.upgrade() else { return NoOthers.resend(message) };
        let job = message.job.clone();
        if let Err(fault) = cluster.send(message) {
            job.finish(Err(fault));
        }
    }
}
