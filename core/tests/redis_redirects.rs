//! Redirections of a cluster's nodes, and of servers that mean harm.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::calls::{hourly, raising};
use crate::servers::fake::Fake;
use crate::servers::{Cluster, Server, wait_until};
use tidegate::Error;
use tidegate::remote::Failure;

/// Long, so that no machine is too slow for it.
const PATIENT: Duration = Duration::from_secs(10);

/// A host that no configuration names, on every local address; and the connections that were made to it.
fn stranger() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("0.0.0.0:0").expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    let connections = Arc::<AtomicUsize>::default();
    let counted = connections.clone();
    thread::spawn(move || {
        let mut kept = Vec::new();
        for client in listener.incoming() {
            counted.fetch_add(1, Ordering::Relaxed);
            kept.push(client);
        }
    });
    (port, connections)
}

/// The reply to `CLUSTER SLOTS` of a server that has all slots itself.
fn all_slots(port: usize) -> String {
    format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n")
}

#[test]
fn nobody_is_sent_to_a_host_that_only_a_redirection_names() {
    for word in ["MOVED", "ASK"] {
        for (scheme, is_cluster) in [("redis", false), ("redis", true), ("redis+cluster", true)] {
            let (port, connections) = stranger();
            let (own, calls) = (Arc::<AtomicUsize>::default(), AtomicUsize::new(0));
            let own_port = own.clone();
            let fake = Fake::start(move |words, _| match words[0].as_str() {
                "CLUSTER" if !is_cluster => Some("-ERR This instance has cluster support disabled\r\n".to_owned()),
                "CLUSTER" if words[1] == "SLOTS" => Some(all_slots(own_port.load(Ordering::Relaxed))),
                "CLUSTER" => Some("-NOPERM this user has no permissions\r\n".to_owned()),
                // Another one each time.
                _ => {
                    let call = calls.fetch_add(1, Ordering::Relaxed);
                    Some(format!("-{word} 5 127.1.{}.{}:{port}\r\n", call / 250, call % 250 + 1))
                }
            });
            own.store(usize::from(fake.port), Ordering::Relaxed);
            let limiter = raising(&format!("{scheme}://app:secret@127.0.0.1:{}", fake.port), Duration::from_secs(2));
            let limit = hourly("redirects", 1000);
            thread::scope(|scope| {
                for caller in 0..20 {
                    let (limiter, limit) = (&limiter, &limit);
                    scope.spawn(move || {
                        for call in 0..3 {
                            let actor = format!("actor {caller} {call}");
                            let error = limiter.limit_sync(limit, &actor).expect_err("it leads nowhere");
                            let Error::Store(error) = error else { panic!("{error}") };
                            assert_eq!(error.failure(), Failure::Moving, "{word} of {scheme}, {is_cluster}: {error}");
                            assert!(error.to_string().contains("no node of the cluster's map"), "{error}");
                        }
                    });
                }
            });
            assert_eq!(connections.load(Ordering::Relaxed), 0, "{word} of {scheme}, {is_cluster}");
        }
    }
}

#[test]
fn a_map_of_more_nodes_than_any_cluster_has_is_none() {
    let (port, connections) = stranger();
    let fake = Fake::start(move |_, _| {
        let ranges = (0..3000).map(|node| {
            let host = format!("127.1.{}.{}", node / 250, node % 250 + 1);
            format!("*3\r\n:{node}\r\n:{node}\r\n*2\r\n${}\r\n{host}\r\n:{port}\r\n", host.len())
        });
        Some(format!("*3000\r\n{}", ranges.collect::<String>()))
    });
    let limiter = raising(&format!("redis+cluster://127.0.0.1:{}", fake.port), PATIENT);
    let limit = hourly("maps", 1000);
    let error = limiter.limit_sync(&limit, "ada").expect_err("no cluster").to_string();
    assert!(error.contains("CLUSTER SLOTS"), "{error}");
    assert_eq!(connections.load(Ordering::Relaxed), 0);
}

/// A node that is to have its first slot is in no list of slots.
#[test]
fn a_node_without_slots_is_asked_for_what_moves_there() {
    let cluster = Cluster::start(0);
    let empty = Server::with(&["--cluster-enabled", "yes", "--cluster-node-timeout", "1000"]);
    empty.run::<()>(&format!("CLUSTER MEET 127.0.0.1 {}", cluster.nodes[0].port));
    let id: String = empty.run("CLUSTER MYID");
    let knows = |node: &Server| {
        node.run::<String>("CLUSTER NODES").lines().any(|line| line.starts_with(&id) && !line.contains("handshake"))
    };
    wait_until("every node knows the new one", || cluster.nodes.iter().all(knows));
    wait_until("it knows that the cluster is well", || {
        empty.run::<String>("CLUSTER INFO").contains("cluster_state:ok")
    });
    let slot: u64 = empty.run("CLUSTER KEYSLOT ada");
    let moved = |error: redis::RedisError| error.to_string().to_lowercase().contains("moved");
    let has_slot = |node: &&Server| !redis::cmd("GET").arg("ada").exec(&mut node.connect()).is_err_and(moved);
    let source = cluster.nodes.iter().find(has_slot).expect("somebody has the slot");
    empty.run::<()>(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", source.run::<String>("CLUSTER MYID")));
    source.run::<()>(&format!("CLUSTER SETSLOT {slot} MIGRATING {id}"));
    for url in [cluster.url(), source.url()] {
        let (limiter, limit) = (raising(&url, PATIENT), hourly("first", 10));
        let info = limiter.limit_sync(&limit, "ada").expect("the new node's answer");
        assert!(!info.blocked, "{url}");
    }
    assert_eq!(empty.run::<u64>("DBSIZE"), 1);
}

/// Redirections name the port of the other node, and no host that is known.
#[test]
fn nodes_without_a_name_are_where_they_were_asked() {
    for kind in ["hostname", "unknown-endpoint"] {
        let cluster = Cluster::start(0);
        for node in &cluster.nodes {
            node.run::<()>(&format!("CONFIG SET cluster-preferred-endpoint-type {kind}"));
        }
        let limiter = raising(&format!("redis+cluster://127.0.0.1:{}", cluster.nodes[0].port), PATIENT);
        let limit = hourly("nameless", 10);
        limiter.limit_sync(&limit, "ada").expect("an answer");
        let (source, target) = ends_of_a_move(&cluster, "ada");
        let keys: Vec<String> = source.run(&format!("CLUSTER GETKEYSINSLOT {} 100", slot_of(source, "ada")));
        for key in keys {
            source.run::<redis::Value>(&format!("MIGRATE 127.0.0.1 {} {key} 0 1000", target.port));
        }
        assert_eq!(limiter.limit_sync(&limit, "ada").expect("the other node's answer").remaining, 8, "{kind}");
    }
}

fn slot_of(node: &Server, actor: &str) -> u64 {
    node.run(&format!("CLUSTER KEYSLOT {actor}"))
}

/// Begins to move the slot of an actor from one node to another.
fn ends_of_a_move<'a>(cluster: &'a Cluster, actor: &str) -> (&'a Server, &'a Server) {
    let moved = |error: redis::RedisError| error.to_string().to_lowercase().contains("moved");
    let has_slot = |node: &&Server| !redis::cmd("GET").arg(actor).exec(&mut node.connect()).is_err_and(moved);
    let source = cluster.nodes.iter().find(has_slot).expect("somebody has the slot");
    let target = cluster.nodes.iter().find(|node| node.port != source.port).expect("another node");
    let slot = slot_of(source, actor);
    target.run::<()>(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", source.run::<String>("CLUSTER MYID")));
    source.run::<()>(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", target.run::<String>("CLUSTER MYID")));
    (source, target)
}

/// One node that serves the slots that it has, though others have no node.
fn node_of(slots: std::ops::Range<u64>) -> Server {
    let node = Server::with(&["--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"]);
    add_slots(&node, slots);
    wait_until("it serves them", || node.run::<String>("CLUSTER INFO").contains("cluster_state:ok"));
    node
}

fn add_slots(node: &Server, slots: std::ops::Range<u64>) {
    let slots: Vec<_> = slots.map(|slot| slot.to_string()).collect();
    node.run::<()>(&format!("CLUSTER ADDSLOTS {}", slots.join(" ")));
}

/// An actor whose slot is in this half.
fn actor_in(node: &Server, slots: &std::ops::Range<u64>) -> String {
    let is_there = |actor: &String| slots.contains(&slot_of(node, actor));
    (0..1000).map(|number| format!("actor{number}")).find(is_there).expect("an actor")
}

#[test]
fn slots_that_get_their_node_later_are_found() {
    for served in [0..8192, 8192..16_384] {
        let lacking = if served.start == 0 { 8192..16_384 } else { 0..8192 };
        let node = node_of(served.clone());
        let (limiter, limit) =
            (raising(&format!("redis+cluster://127.0.0.1:{}", node.port), PATIENT), hourly("gaps", 9));
        let Err(Error::Store(error)) = limiter.limit_sync(&limit, &actor_in(&node, &lacking)) else {
            panic!("nobody has this slot");
        };
        assert_eq!(error.failure(), Failure::NotReady, "{error}");
        assert!(error.cause().is_some_and(|cause| cause.contains("slot")), "{error}");
        add_slots(&node, lacking.clone());
        wait_until("the slots are found", || limiter.limit_sync(&limit, &actor_in(&node, &lacking)).is_ok());
    }
}

#[test]
fn slots_without_a_node_keep_nobody_from_the_others() {
    for served in [0..8192, 8192..16_384] {
        let lacking = if served.start == 0 { 8192..16_384 } else { 0..8192 };
        let mut node = node_of(served.clone());
        let (there, nowhere) = (actor_in(&node, &served), actor_in(&node, &lacking));
        let (limiter, limit) =
            (raising(&format!("redis+cluster://127.0.0.1:{}", node.port), PATIENT), hourly("gaps", 999));
        limiter.limit_sync(&limit, &there).expect("an answer");
        assert!(limiter.ping_sync().is_ok());
        let is_not_ready = |answer| matches!(answer, Err(Error::Store(error)) if error.failure() == Failure::NotReady);
        for _ in 0..3 {
            assert!(is_not_ready(limiter.limit_sync(&limit, &nowhere)));
            limiter.limit_sync(&limit, &there).expect("a slot that has a node");
        }
        // A probe finds it back, too.
        node.kill();
        wait_until("it is missed", || limiter.limit_sync(&limit, &there).is_err());
        node.restart();
        wait_until("it is found back", || limiter.limit_sync(&limit, &there).is_ok());
    }
}
