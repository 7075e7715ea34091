//! A cluster's map: which node has which slot, and a connection to each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::select_ok;
use redis::{RedisResult, Value};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::address::Target;
use super::connection::Connection;
use super::context::Context;
use super::dial::{A_MAP, open};
use super::endpoint::Endpoint;
use super::error_action::nonsense;
use super::keys::slot_of;
use super::message::Message;
use super::reroute::{NoOthers, Reroute};
use crate::failure::Failure;

const SLOTS: usize = 16_384;
/// Between two looks at the map, at the least, and while a node has failed.
const LOOK_EVERY: Duration = Duration::from_millis(100);

type Node = (String, u16);

pub(super) struct Cluster {
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
    nodes: Vec<Node>,
    /// Messages that came before the map was known.
    early: Vec<Message>,
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
            let early = std::mem::take(&mut map.early);
            drop(map);
            // Each is answered as it is dropped.
            drop(early);
        }
    }
}

impl Cluster {
    pub(super) fn start(seeds: Vec<Node>, template: Target, context: Arc<Context>) -> Arc<Self> {
        let cluster = Self::start_asleep(seeds, template, context);
        cluster.wake();
        cluster
    }

    /// One that may not be there, and is not looked for before it is known to be.
    pub(super) fn start_asleep(seeds: Vec<Node>, template: Target, context: Arc<Context>) -> Arc<Self> {
        let stale = Arc::new(Notify::new());
        let cluster = Arc::new_cyclic(|me: &Weak<Self>| Self {
            me: me.clone(),
            seeds,
            template,
            context,
            map: Mutex::default(),
            stale: stale.clone(),
            lost: AtomicBool::new(false),
            awake: AtomicBool::new(false),
        });
        tokio::spawn(keep_map(MapTask(Arc::downgrade(&cluster)), stale));
        cluster.refresh();
        cluster
    }

    pub(super) fn send(&self, message: Message) -> Result<(), Failure> {
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
        let connection = map.owner(slot).ok_or(Failure::NotReady)?;
        drop(map);
        connection.send(message)
    }

    /// To the node that another one named, for good or for this once.
    pub(super) fn redirect(&self, to: &Node, message: Message) {
        let connection = self.connection(&mut self.map(), to);
        if !message.asking {
            self.refresh();
        }
        let job = message.job.clone();
        if let Err(fault) = connection.send(message) {
            job.finish(Err(fault));
        }
    }

    /// There is a cluster.
    pub(super) fn wake(&self) {
        self.awake.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_awake(&self) -> bool {
        self.awake.load(Ordering::Relaxed)
    }

    pub(super) fn refresh(&self) {
        self.stale.notify_one();
    }

    pub(super) fn is_open(&self) -> bool {
        self.lost.load(Ordering::Relaxed) || self.map().connections.values().any(|connection| connection.is_open())
    }

    /// The task that keeps the map is gone, and with it the runtime.
    pub(super) fn is_dead(&self) -> bool {
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
        if !self.is_awake() {
            return;
        }
        let mut nodes = self.map().nodes.clone();
        nodes.extend(self.seeds.iter().filter(|seed| !nodes.contains(seed)).cloned().collect::<Vec<_>>());
        let asked = nodes.iter().map(|node| Box::pin(ask(&self.template, node)));
        match timeout(self.context.connect_timeout(), select_ok(asked)).await {
            Ok(Ok((ranges, _))) => self.apply_map(ranges),
            Ok(Err(error)) => self.on_lost(&error.to_string()),
            Err(_) => self.on_lost("no answer in time"),
        }
    }

    fn apply_map(&self, ranges: Vec<(usize, usize, Node)>) {
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
        let Map { connections, nodes, early, .. } = &mut *map;
        // A connection that leaves the map finishes what is on its way, and sends on what is not.
        let gone: Vec<_> = connections.extract_if(|node, _| !nodes.contains(node)).collect();
        let early = std::mem::take(early);
        drop(map);
        drop(gone);
        self.lost.store(false, Ordering::Relaxed);
        for message in early {
            let job = message.job.clone();
            if let Err(fault) = self.send(message) {
                job.finish(Err(fault));
            }
        }
    }

    fn on_lost(&self, why: &str) {
        let mut map = self.map();
        let early = std::mem::take(&mut map.early);
        let known = !map.owners.is_empty();
        drop(map);
        // An old map is better than none.
        if !known && !self.lost.swap(true, Ordering::Relaxed) {
            self.context.fault(&"the cluster", Failure::Unreachable, why);
        }
        for message in early {
            message.job.finish(Err(Failure::Unreachable));
        }
    }
}

impl Map {
    fn owner(&self, slot: usize) -> Option<Arc<Connection>> {
        let index = (*self.owners.get(slot)?)?;
        self.connections.get(self.nodes.get(usize::from(index))?).cloned()
    }
}

/// Looks at the map when something says that it is stale, and again and again while a node has failed.
async fn keep_map(task: MapTask, stale: Arc<Notify>) {
    loop {
        let Some(unwell) = task.0.upgrade().map(|cluster| cluster.is_open()) else { return };
        if !unwell {
            stale.notified().await;
        }
        match task.0.upgrade() {
            Some(cluster) => cluster.look().await,
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

/// The primaries that have slots, as a node knows them.
pub(super) async fn nodes_of(template: &Target, node: &Node) -> RedisResult<Vec<Node>> {
    let mut nodes: Vec<Node> = ask(template, node).await?.into_iter().map(|(_, _, node)| node).collect();
    nodes.sort();
    nodes.dedup();
    Ok(nodes)
}

/// The slots' ranges as a node knows them.
async fn ask(template: &Target, node: &Node) -> RedisResult<Vec<(usize, usize, Node)>> {
    let mut connection = open(&template.at(&node.0, node.1), A_MAP).await?;
    let ranges: Vec<Vec<Value>> = redis::cmd("CLUSTER").arg("SLOTS").query_async(&mut connection.wire).await?;
    let ranges: RedisResult<Vec<_>> = ranges.into_iter().map(|range| read_range(&range, &node.0)).collect();
    ranges.and_then(|ranges| if ranges.is_empty() { Err(nonsense("CLUSTER SLOTS")) } else { Ok(ranges) })
}

fn read_range(range: &[Value], asked: &str) -> RedisResult<(usize, usize, Node)> {
    let bad = || nonsense("CLUSTER SLOTS");
    let [first, last, Value::Array(primary), ..] = range else { return Err(bad()) };
    let [host, port, ..] = &primary[..] else { return Err(bad()) };
    let host: Option<String> = redis::from_redis_value(host.clone()).map_err(|_| bad())?;
    // A node that does not know its own name is where it was asked.
    let host = host.filter(|host| !host.is_empty() && host != "?").unwrap_or_else(|| asked.to_owned());
    let number = |value: &Value| redis::from_redis_value::<u16>(value.clone()).map_err(|_| bad());
    Ok((usize::from(number(first)?), usize::from(number(last)?), (host, number(port)?)))
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
