//! Operations for operators and tests: a health check, a look over the keys, and removing all entries.
//!
//! They go over connections of their own, past the breaker, and take longer than a decision may.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{select_ok, try_join_all};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, FromRedisValue, RedisError, RedisResult, Value};
use tokio::time::timeout;

use super::advice::advised;
use super::connection::dial::Transport;
use super::connection::error_action::{self, ErrorAction};
use super::connection::state::Connected;
use super::context::Context;
use super::protocol::encode::encode;
use super::protocol::keys::both;
use super::protocol::layout::{Layout, Strategy};
use super::settings::Settings;
use super::settings::address::{Address, Target};
use super::settings::endpoint::Endpoint;
use super::topology::cluster_map::nodes_of;
use super::transactions;
use crate::algorithm::Shape;
use crate::error::StoreError;
use crate::failure::Failure;
use crate::store::remote::{EntryName, Health, Key, Request, Scan, Session};

/// Keys that are looked at in one step: few enough that a server is not held up.
const STEP: u64 = 500;
/// Bytes that the keys of one step may be.
const MOST_READ: u64 = 16 * 1024 * 1024;
/// Clocks of hosts that are kept in time differ by less.
const SKEW: f64 = 1.0;

/// The servers of a store, as operators work on them.
pub(super) struct Upkeep {
    address: Address,
    context: Arc<Context>,
    layout: Layout,
}

impl Upkeep {
    pub(super) fn new(settings: &Settings, session: Session) -> Self {
        let context = Arc::new(Context::new(settings, session));
        Self { address: settings.address.clone(), context, layout: settings.layout() }
    }

    /// Has every server make these decisions, which use all rights that a bucket needs.
    pub(super) async fn ping(&self, probes: &[Request; 2]) -> Result<Health, StoreError> {
        ping(&self.address, &self.context, probes).await
    }

    /// The beginning of a text under a key, at most so many bytes.
    pub(super) async fn value(&self, key: &str, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let mut range = redis::cmd("GETRANGE");
        let bytes: Vec<u8> = self.of_key(range.arg(key).arg(0).arg(most.saturating_sub(1)), most).await?;
        // An empty text and no key have the same range.
        let is_there = !bytes.is_empty() || self.of_key(redis::cmd("EXISTS").arg(key), 0).await?;
        Ok(is_there.then_some(bytes))
    }

    /// Replaces a text under a key, if it is this one.
    pub(super) async fn replace(&self, key: &str, before: &[u8], after: &[u8]) -> Result<bool, StoreError> {
        let script = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('SET', KEYS[1], ARGV[2]) and 1 or 0";
        self.of_key(redis::cmd("EVAL").arg(script).arg(1).arg(key).arg(before).arg(after), 0).await
    }

    /// Asks the server that has a key, over a connection of its own: in a cluster the others say that they have not.
    async fn of_key<T: FromRedisValue + Default>(&self, asked: &Cmd, most: u64) -> Result<T, StoreError> {
        let mut refused = None;
        for endpoint in endpoints(&self.address, &self.context).await? {
            let late = |_| late(&endpoint);
            let connected = timeout(self.context.connect_timeout(), endpoint.connect()).await.map_err(late)?;
            let mut connection = connected.map_err(|error| unconnected(&endpoint, &error))?.connection;
            connection.allow(most + MOST_READ);
            let answer = asked.query_async(&mut connection.wire);
            match timeout(self.context.connect_timeout(), answer).await.map_err(late)? {
                Ok(answer) => return Ok(answer),
                Err(error) if matches!(ErrorAction::of(&error), ErrorAction::Redirect { .. }) => {
                    refused = Some(failed(&endpoint, &error));
                }
                Err(error) => return Err(failed(&endpoint, &error)),
            }
        }
        refused.map_or_else(|| Ok(T::default()), Err)
    }

    /// Removes every entry of a namespace, in steps; says how many keys there were.
    pub(super) async fn clear(&self, namespace: &str) -> Result<u64, StoreError> {
        clear(&self.address, &self.context, self.layout, namespace).await
    }

    /// Looks for the keys of a namespace, among at most so many of all servers.
    pub(super) async fn scan(&self, namespace: &str, budget: u64) -> Result<Scan, StoreError> {
        scan(&self.address, &self.context, self.layout, (namespace, budget)).await
    }
}

async fn ping(address: &Address, context: &Arc<Context>, probes: &[Request; 2]) -> Result<Health, StoreError> {
    let endpoints = endpoints(address, context).await?;
    let asked = endpoints.iter().map(|endpoint| async move {
        let health = timeout(context.connect_timeout(), examine(endpoint, context, probes)).await;
        health.map_err(|_| late(endpoint))?
    });
    let mut health = try_join_all(asked).await?.into_iter().fold(Health::default(), Health::join);
    if matches!(address, Address::Server(_)) && endpoints.iter().any(Endpoint::is_sharded) {
        health.warnings.push("the server is a node of a cluster: name it by redis+cluster:// in the URL".to_owned());
    }
    Ok(health)
}

async fn examine(endpoint: &Endpoint, context: &Context, probes: &[Request; 2]) -> Result<Health, StoreError> {
    let failed = |error: &RedisError| failed(endpoint, error);
    let Connected { mut connection, heard, said, .. } =
        endpoint.connect().await.map_err(|error| unconnected(endpoint, &error))?;
    let server = endpoint.to_string();
    if let Some((failure, why)) = said.refusal {
        return Err(error(failure, endpoint).because(why));
    }
    let began = Instant::now();
    for probe in probes {
        decide(&mut connection.wire, context, probe).await.map_err(|error| failed(&error))?;
    }
    let round_trip = began.elapsed() / 2;
    if context.replicas() > 0 && !endpoint.is_sharded() {
        let mut wait = redis::cmd("WAIT");
        wait.arg(context.replicas()).arg(context.timeout().as_millis().clamp(1, 3_600_000) as u64);
        let there: u32 = wait.query_async(&mut connection.wire).await.map_err(|error| failed(&error))?;
        if there < context.replicas() {
            return Err(error(Failure::Unreplicated, endpoint));
        }
    }
    let mut warnings: Vec<String> = said.eviction().into_iter().collect();
    if context.is_unverified() {
        warnings.push("its certificate is not verified (ssl_cert_reqs=none)".to_owned());
    }
    let patience = context.timeout();
    if round_trip * 3 > patience {
        let [took, patience] = [round_trip, patience].map(|time| time.as_secs_f64() * 1000.0);
        warnings.push(format!("a decision took {took:.1} ms, and the timeout is {patience} ms: choose a longer one"));
    }
    let clock_ahead = heard.map_or(0.0, |(sent, received, server)| {
        let here = sent.midpoint(received);
        let ahead = Duration::from_micros(server.abs_diff(here)).as_secs_f64();
        if server < here { -ahead } else { ahead }
    });
    if clock_ahead.abs() > SKEW {
        let way = if clock_ahead < 0.0 { "behind" } else { "ahead of" };
        let by = clock_ahead.abs();
        warnings.push(format!("its clock is {by:.1} s {way} this host's; decisions go by the server's"));
    }
    let warnings = warnings.into_iter().map(|warning| format!("redis at {server}: {warning}")).collect();
    Ok(Health { servers: vec![server], round_trip, clock_ahead, memory_policy: said.memory_policy, warnings })
}

/// Decides once; a node that has not this slot has shown all the same that it would.
async fn decide(connection: &mut MultiplexedConnection, context: &Context, probe: &Request) -> RedisResult<()> {
    let answer = match context.strategy() {
        Strategy::Script => {
            let call = encode([(probe, 0)], context.layout(), 0);
            match call.command(false).query_async::<Value>(connection).await {
                Err(error) if matches!(ErrorAction::of(&error), ErrorAction::SendScript) => {
                    call.command(true).query_async(connection).await
                }
                answer => answer,
            }
        }
        Strategy::Transactions => {
            transactions::probe(connection, probe.entries().iter().flat_map(both)).await.map(|()| Value::Okay)
        }
    };
    match answer {
        Err(error) => match ErrorAction::of(&error) {
            ErrorAction::Redirect { .. } | ErrorAction::Retry | ErrorAction::NoOwner => Ok(()),
            _ => Err(error),
        },
        Ok(_) => Ok(()),
    }
}

async fn clear(address: &Address, context: &Arc<Context>, layout: Layout, namespace: &str) -> Result<u64, StoreError> {
    let pattern = pattern(layout, namespace);
    let mut removed = 0;
    for endpoint in endpoints(address, context).await? {
        let mut walk = Walk::start(&endpoint, context, &pattern).await?;
        while let Some(keys) = walk.step(STEP, layout).await? {
            removed += walk.within(async |connection| remove(connection, &keys).await).await?;
        }
    }
    Ok(removed)
}

async fn scan(
    address: &Address,
    context: &Arc<Context>,
    layout: Layout,
    (namespace, budget): (&str, u64),
) -> Result<Scan, StoreError> {
    let pattern = pattern(layout, namespace);
    let endpoints = endpoints(address, context).await?;
    let share = budget.div_ceil(endpoints.len().max(1) as u64);
    let mut scan = Scan::default();
    for endpoint in &endpoints {
        let mut walk = Walk::start(endpoint, context, &pattern).await?;
        let there: u64 = walk.within(async |connection| redis::cmd("DBSIZE").query_async(connection).await).await?;
        let mut left = share;
        while left > 0
            && let step = left.min(STEP)
            && let Some(keys) = walk.step(step, layout).await?
        {
            scan.keys.extend(keys.into_iter().map(Key::from));
            left -= step;
        }
        scan.total += there;
        // A server looks at about as many as it is asked to.
        scan.looked_at += if walk.is_over() { there } else { there.min(share - left) };
    }
    Ok(scan)
}

/// A walk over the keys of one server that match a pattern, in steps.
struct Walk<'a> {
    endpoint: &'a Endpoint,
    pattern: &'a [u8],
    patience: Duration,
    connection: Transport,
    /// Nothing at the end.
    cursor: Option<u64>,
}

impl<'a> Walk<'a> {
    async fn start(endpoint: &'a Endpoint, context: &Context, pattern: &'a [u8]) -> Result<Self, StoreError> {
        let patience = context.connect_timeout();
        let connected = timeout(patience, endpoint.connect()).await.map_err(|_| late(endpoint))?;
        let connection = connected.map_err(|error| unconnected(endpoint, &error))?.connection;
        Ok(Self { endpoint, pattern, patience, connection, cursor: Some(0) })
    }

    /// The keys of entries among about so many; nothing at the end.
    async fn step(&mut self, count: u64, layout: Layout) -> Result<Option<Vec<Vec<u8>>>, StoreError> {
        let Some(cursor) = self.cursor else { return Ok(None) };
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(self.pattern).arg("COUNT").arg(count);
        let (next, mut keys): (u64, Vec<Vec<u8>>) =
            self.within(async |connection| scan.query_async(connection).await).await?;
        self.cursor = (next > 0).then_some(next);
        keys.retain(|key| layout == Layout::Own || key.ends_with(b"_c") || key.ends_with(b"_t"));
        Ok(Some(keys))
    }

    fn is_over(&self) -> bool {
        self.cursor.is_none()
    }

    /// Asks the server for something, which takes no longer than connecting may.
    async fn within<T>(
        &mut self,
        ask: impl AsyncFnOnce(&mut MultiplexedConnection) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        self.connection.allow(MOST_READ);
        let asked = timeout(self.patience, ask(&mut self.connection.wire)).await;
        asked.map_err(|_| late(self.endpoint))?.map_err(|error| failed(self.endpoint, &error))
    }
}

/// Removes these keys, and says how many were still there.
async fn remove(connection: &mut MultiplexedConnection, keys: &[Vec<u8>]) -> RedisResult<u64> {
    let mut unlink = redis::pipe();
    // One at a time: keys of different slots cannot share a command.
    for key in keys {
        unlink.cmd("UNLINK").arg(key);
    }
    if unlink.is_empty() {
        return Ok(0);
    }
    // Each reply with an error of its own, which says more than one for all of them.
    let replies: Vec<Value> = unlink.ignore_errors().query_async(connection).await?;
    let mut gone = 0;
    for reply in replies {
        gone += redis::from_redis_value::<u64>(reply.extract_error()?)?;
    }
    Ok(gone)
}

/// The pattern that matches the keys of a namespace, and no others.
fn pattern(layout: Layout, namespace: &str) -> Vec<u8> {
    let key = layout.key(EntryName::new(namespace, "", "", Shape::Level));
    let end = match layout {
        Layout::Own => key.windows(2).position(|pair| pair == b":{").map_or(0, |at| at + 2),
        Layout::Sharkey => key.len() - b"__".len(),
    };
    let special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\' | b'^' | b'-');
    let escaped = key[..end].iter().flat_map(|byte| special(byte).then_some(b'\\').into_iter().chain([*byte]));
    escaped.chain([b'*']).collect()
}

/// Every server that keeps entries.
async fn endpoints(address: &Address, context: &Arc<Context>) -> Result<Vec<Endpoint>, StoreError> {
    let handshake = || context.handshake();
    match address.clone() {
        Address::Server(info) => {
            let endpoint = Endpoint::server((*info).clone(), handshake());
            let connected = timeout(context.connect_timeout(), endpoint.connect()).await;
            let late = |_| late(&endpoint);
            let connected = connected.map_err(late)?.map_err(|error| unconnected(&endpoint, &error))?;
            match Endpoint::seed(&info).filter(|_| connected.said.is_cluster && context.suits_clusters()) {
                Some(seed) => nodes(&[seed], &info, context).await,
                None => Ok(vec![endpoint]),
            }
        }
        Address::Sentinels { sentinels, service, template } => {
            Ok(vec![Endpoint::primary(sentinels, service, *template, handshake())])
        }
        Address::Cluster { seeds, template } => nodes(&seeds, &template, context).await,
    }
}

async fn nodes(
    seeds: &[(String, u16)],
    template: &Target,
    context: &Arc<Context>,
) -> Result<Vec<Endpoint>, StoreError> {
    let asked = seeds.iter().map(|seed| Box::pin(nodes_of(template, seed)));
    let found = timeout(context.connect_timeout(), select_ok(asked)).await;
    let found = found.map_err(|_| error(Failure::Timeout, &"the cluster").because(template.silence()))?;
    let (nodes, _) = found.map_err(|error| unconnected(&"the cluster", &error))?;
    Ok(nodes.iter().map(|(host, port)| Endpoint::node(template.at(host, *port), context.handshake())).collect())
}

fn late(endpoint: &Endpoint) -> StoreError {
    error(Failure::Timeout, endpoint).because(endpoint.silence())
}

fn unconnected(server: &dyn Display, error: &RedisError) -> StoreError {
    self::error(error_action::unconnected(error), server).because(advised(&error.to_string()))
}

fn failed(endpoint: &Endpoint, error: &RedisError) -> StoreError {
    self::error(failure_of(error), endpoint).because(advised(&error.to_string()))
}

fn error(failure: Failure, server: &dyn Display) -> StoreError {
    StoreError::new(failure).at("redis", server)
}

fn failure_of(error: &RedisError) -> Failure {
    match ErrorAction::of(error) {
        ErrorAction::GiveUp(failure) => failure,
        ErrorAction::NoOwner => Failure::NotReady,
        _ => Failure::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(layout: Layout, namespace: &str) -> String {
        String::from_utf8(pattern(layout, namespace)).expect("text")
    }

    #[test]
    fn a_namespace_matches_its_own_keys_alone() {
        assert_eq!(text(Layout::Own, "tidegate"), "tidegate:{*");
        assert_eq!(text(Layout::Own, "a*b[c]"), "a\\*b\\[c\\]:{*");
        assert_eq!(text(Layout::Own, ""), "%:{*");
        assert_eq!(text(Layout::Sharkey, ""), "rl_*");
        assert_eq!(text(Layout::Sharkey, "example.com"), "example.com:rl_*");
    }
}
