//! Connections that a server or a proxy closes between two calls: no call pays for it.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::{hourly, over_in, well_in};
use crate::servers::proxy::Proxy;
use crate::servers::{Cluster, Server, wait_until};
use tidegate::remote::{BreakerState, OnError};
use tidegate::{Limit, Limiter, Redis};

/// Never waited out, however busy the machine is.
const DEADLINE: Duration = Duration::from_secs(20);
const CLOSES: usize = 50;

/// One server, and the connections of a limiter to it.
struct Watched<'a> {
    server: &'a Server,
    own: redis::Connection,
}

impl<'a> Watched<'a> {
    fn new(server: &'a Server) -> Self {
        Self { server, own: server.connect() }
    }

    /// The numbers of the connections that greeted or decided last: those of others do neither.
    fn present(&mut self) -> Vec<u64> {
        let list: String = redis::cmd("CLIENT").arg("LIST").query(&mut self.own).expect("a list");
        let is_ours =
            |line: &&str| ["time", "evalsha", "exec"].iter().any(|name| line.contains(&format!("cmd={name} ")));
        let number = |line: &str| line.strip_prefix("id=")?.split_once(' ')?.0.parse().ok();
        list.lines().filter(is_ours).filter_map(number).collect()
    }

    /// Has the server close them.
    fn close(&mut self) -> Vec<u64> {
        let present = self.present();
        for number in &present {
            let mut kill = redis::cmd("CLIENT");
            let killed: u64 = kill.arg("KILL").arg("ID").arg(*number).query(&mut self.own).expect("a number");
            assert_eq!(killed, 1);
        }
        present
    }

    /// True once there is one other than these.
    fn has_anew(&mut self, before: &[u64]) -> bool {
        let present = self.present();
        assert!(present.len() <= 1, "{present:?} at {}", self.server.port);
        present.iter().any(|number| !before.contains(number))
    }

    fn wait_anew(&mut self, before: &[u64]) {
        wait_until("it is connected anew, before any call", || self.has_anew(before));
    }
}

fn is_decided(limiter: &Limiter, limit: &Limit) -> bool {
    !limiter.limit_sync(limit, "ada").expect("an answer").degraded
}

#[test]
fn a_connection_that_was_closed_between_blocking_calls_costs_none() {
    let server = Server::start();
    let (limiter, limit) = (well_in(&server.url(), OnError::Allow, DEADLINE), hourly("idle", 1000));
    let mut watched = Watched::new(&server);
    let degraded = (0..CLOSES).filter(|_| {
        let is_decided = is_decided(&limiter, &limit);
        let before = watched.close();
        assert_eq!(before.len(), 1);
        watched.wait_anew(&before);
        !is_decided
    });
    assert_eq!(degraded.count(), 0);
    assert!(is_decided(&limiter, &limit));
}

#[test]
fn a_connection_that_was_closed_between_calls_of_a_runtime_costs_none() {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (limiter, limit) = (over_in(&server.url(), OnError::Allow, DEADLINE), hourly("runtime", 1000));
        let mut watched = Watched::new(&server);
        for _ in 0..CLOSES {
            assert!(!limiter.limit(&limit, "ada").await.expect("an answer").degraded);
            let (before, end) = (watched.close(), Instant::now() + DEADLINE);
            while !watched.has_anew(&before) {
                assert!(Instant::now() < end, "not connected anew");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        assert!(!limiter.limit(&limit, "ada").await.expect("an answer").degraded);
    });
}

#[test]
fn a_runtime_that_stood_still_reads_of_a_close_before_a_call_is_written() {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let limiter = runtime.block_on(async { over_in(&server.url(), OnError::Allow, DEADLINE) });
    let (mut watched, limit) = (Watched::new(&server), hourly("still", 1000));
    let call = || runtime.block_on(limiter.limit(&limit, "ada")).expect("an answer").degraded;
    assert!(!call());
    let degraded = (0..CLOSES).filter(|_| {
        assert_eq!(watched.close().len(), 1);
        thread::sleep(Duration::from_millis(2));
        call()
    });
    assert_eq!(degraded.count(), 0);
}

#[test]
fn servers_that_close_what_is_idle_are_not_told_of() {
    let server = Server::start();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let listener = heard.clone();
    let store = Redis::builder(&server.url()).timeout(DEADLINE).on_error(OnError::Raise);
    let limiter = Limiter::new(
        store.listener(move |event| listener.lock().expect("a lock").push(event.to_string())).build().expect("a store"),
    );
    let limit = hourly("timeout", 1000);
    assert!(is_decided(&limiter, &limit));
    let mut watched = Watched::new(&server);
    let before = watched.present();
    server.run::<()>("CONFIG SET timeout 1");
    watched.wait_anew(&before);
    assert!(is_decided(&limiter, &limit));
    let heard = heard.lock().expect("a lock");
    assert!(heard.is_empty(), "{heard:?}");
}

#[test]
fn a_server_that_was_restarted_between_two_calls_decides_the_second() {
    let mut server = Server::start();
    let (limiter, limit) = (well_in(&server.url(), OnError::Allow, DEADLINE), hourly("restart", 1000));
    for _ in 0..3 {
        assert!(is_decided(&limiter, &limit));
        server.kill();
        wait_until("it has noticed, without a call", || limiter.stats().breaker == BreakerState::Open);
        server.restart();
        wait_until("it has found it, without a call", || limiter.stats().breaker == BreakerState::Closed);
    }
    assert!(is_decided(&limiter, &limit));
}

#[test]
fn what_closes_every_connection_at_once_is_not_connected_to_again_and_again() {
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    let (limiter, limit) = (well_in(&proxy.url(), OnError::Raise, DEADLINE), hourly("closing", 1000));
    assert!(is_decided(&limiter, &limit));
    let (before, started) = (proxy.opened(), Instant::now());
    while started.elapsed() < Duration::from_millis(700) {
        // Each is let greet.
        thread::sleep(Duration::from_millis(20));
        proxy.cut();
    }
    let opened = proxy.opened() - before;
    assert!((1..=8).contains(&opened), "{opened} connections");
    wait_until("the store decides", || is_decided(&limiter, &limit));
}

#[test]
fn the_primary_that_sentinels_name_is_connected_to_anew() {
    let primary = Server::start();
    let file = primary.folder().join("sentinel.conf");
    std::fs::write(&file, format!("sentinel monitor shop 127.0.0.1 {} 1\n", primary.port)).expect("a file");
    let sentinel = Server::with(&[&file.to_string_lossy(), "--sentinel"]);
    let url = format!("redis+sentinel://127.0.0.1:{}/shop", sentinel.port);
    let (limiter, limit) = (well_in(&url, OnError::Allow, DEADLINE), hourly("sentinel", 1000));
    let mut watched = Watched::new(&primary);
    for _ in 0..CLOSES / 5 {
        assert!(is_decided(&limiter, &limit));
        let before = watched.close();
        watched.wait_anew(&before);
    }
    assert!(is_decided(&limiter, &limit));
}

#[test]
fn every_node_of_a_cluster_is_connected_to_anew() {
    let cluster = Cluster::start(0);
    let (limiter, limit) = (well_in(&cluster.url(), OnError::Allow, DEADLINE), hourly("cluster", 1000));
    let actors: Vec<String> = (0..30).map(|number| format!("actor {number}")).collect();
    let decided = || actors.iter().all(|actor| !limiter.limit_sync(&limit, actor).expect("an answer").degraded);
    let mut watched: Vec<_> = cluster.nodes.iter().map(Watched::new).collect();
    assert!(decided());
    for _ in 0..CLOSES / 5 {
        for node in &mut watched {
            let before = node.close();
            node.wait_anew(&before);
        }
        assert!(decided());
    }
}
