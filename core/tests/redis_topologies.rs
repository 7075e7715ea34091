//! One server, or a cluster; over sockets of every kind.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::calls::{hourly, raising};
use crate::servers::proxy::Proxy;
use crate::servers::{Cluster, Server, free_port, wait_until};
use tidegate::remote::OnError;
use tidegate::{Call, Check, Limiter, Redis};

/// Longer than a busy machine takes, where no server fails.
const PATIENT: Duration = Duration::from_secs(10);

#[test]
fn a_unix_socket_and_a_database_of_ones_own() {
    let port = free_port();
    let socket = std::env::temp_dir().join(format!("tidegate-test-{port}.sock"));
    let server = Server::on(port, &["--unixsocket", &socket.to_string_lossy()]);
    let limit = hourly("sockets", 10);
    let (first, second) = (format!("unix://{}?db=2", socket.display()), format!("{}/3", server.url()));
    for (url, database) in [(first, 2), (second, 3)] {
        assert_eq!(raising(&url, PATIENT).limit_sync(&limit, "ada").expect("an answer").remaining, 9, "{url}");
        let keyspace = server.run::<String>("INFO keyspace");
        assert!(keyspace.contains(&format!("db{database}:keys=1")), "{keyspace}");
    }
    let _ = fs::remove_file(socket);
}

#[test]
fn urls_that_make_no_sense_are_refused_without_their_password() {
    for url in [
        "localhost",
        "http://localhost",
        "redis://:hunter2@a,b",
        "redis+cluster://:hunter2@a:1/3",
        "redis+sentinel://:hunter2@a:1",
        "redis+sentinel://",
        "redis://localhost?nonsense=1",
        "redis://localhost/notanumber",
        "redis+cluster://a:x",
        "rediss://localhost?ssl_ca_certs=/nowhere",
        "rediss://localhost?ssl_certfile=/dev/null",
        "redis+tls://localhost",
        "redis:/user:hunter2@localhost",
        "unix:///socket?pass=hunter2&nonsense=1",
    ] {
        let error = Redis::open(url).expect_err(url).to_string();
        assert!(error.contains("url") && !error.contains("hunter2"), "{error}");
    }
    let store = Redis::builder("redis://user:hunter2@localhost/1");
    let shown = format!("{store:?} {:?}", store.clone().build().expect("a store"));
    assert!(!shown.contains("hunter2") && shown.contains("localhost"), "{shown}");
}

#[test]
fn a_cluster_decides_as_one_server_would() {
    let cluster = Cluster::start(0);
    let limiter = raising(&cluster.url(), PATIENT);
    let limit = hourly("cluster", 3);
    // Many actors, so that every node has some.
    for actor in 0..200 {
        let actor = format!("actor {actor}");
        let blocked: Vec<_> = (0..4).map(|_| limiter.limit_sync(&limit, &actor).expect("an answer").blocked).collect();
        assert_eq!(blocked, [false, false, false, true], "{actor}");
    }
    for node in &cluster.nodes {
        assert!(node.run::<u64>("DBSIZE") > 20, "every node has its share");
    }
}

#[test]
fn calls_that_come_before_a_node_has_said_what_it_is_are_decided_by_its_cluster() {
    let cluster = Cluster::start(0);
    let proxy = Proxy::to(cluster.nodes[0].port);
    proxy.delay(Duration::from_millis(100));
    let store = Redis::builder(&proxy.url()).timeout(Duration::from_secs(10)).on_error(OnError::Raise);
    let (limiter, limit) = (Limiter::new(store.build().expect("a store")), hourly("node", 3));
    thread::scope(|scope| {
        for actor in 0..20 {
            let (limiter, limit) = (&limiter, &limit);
            scope.spawn(move || limiter.limit_sync(limit, &format!("actor {actor}")).expect("the cluster's answer"));
        }
    });
    assert!(cluster.nodes[1..].iter().all(|node| node.run::<u64>("DBSIZE") > 0), "each node decides its own");
}

#[test]
fn checks_in_different_slots_are_given_back_whole() {
    let cluster = Cluster::start(0);
    let limiter = raising(&cluster.url(), PATIENT);
    let (few, many) = (hourly("few", 40), hourly("many", 1000));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (limiter, few, many) = (limiter.clone(), few.clone(), many.clone());
            std::thread::spawn(move || {
                let checks = [Check::new(&many, "b"), Check::new(&few, "a"), Check::new(&many, "c")];
                (0..50).filter(|_| !limiter.decide_sync(&checks, Call::Limit).expect("an answer").blocked).count()
            })
        })
        .collect();
    let admitted: usize = threads.into_iter().map(|thread| thread.join().expect("a thread")).sum();
    assert!((35..=40).contains(&admitted), "{admitted} of 40");
    for actor in ["b", "c"] {
        let left = || limiter.peek_sync(&many, actor).expect("an answer").remaining;
        wait_until("everything is given back", || left() == 1000 - admitted as u64);
    }
}

#[test]
fn a_slot_may_move_while_it_is_decided_about() {
    let cluster = Cluster::start(0);
    let limiter = raising(&cluster.url(), PATIENT);
    let limit = hourly("moving", 100_000);
    let several = [hourly("m1", 100_000), hourly("m2", 100_000)];
    let slot: u64 = cluster.nodes[0].run("CLUSTER KEYSLOT ada");
    limiter.limit_sync(&limit, "ada").expect("an answer");
    let ids: Vec<String> = cluster.nodes.iter().map(|node| node.run("CLUSTER MYID")).collect();
    let owner = |from: &Server| {
        from.run::<String>("CLUSTER NODES").lines().any(|line| {
            line.contains("myself") && line.split(' ').skip(8).any(|range| {
            let mut ends = range.split('-').map(str::parse::<u64>);
            matches!((ends.next(), ends.next()), (Some(Ok(first)), Some(Ok(last))) if (first..=last).contains(&slot))
        })
        })
    };
    let from = cluster.nodes.iter().position(owner).expect("somebody has the slot");
    let to = (from + 1) % 3;
    let (source, target) = (&cluster.nodes[from], &cluster.nodes[to]);
    let mut calls = 0;
    let mut charge = |limiter: &Limiter| {
        limiter.limit_sync(&limit, "ada").expect("no error while a slot moves");
        calls += 1;
    };
    target.run::<()>(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", ids[from]));
    source.run::<()>(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", ids[to]));
    for _ in 0..10 {
        charge(&limiter);
    }
    // An entry that is new while the slot moves is made at its new place.
    assert!(!limiter.limit_sync(&several[0], "ada").expect("a fresh entry").blocked);
    let keys: Vec<String> = source.run(&format!("CLUSTER GETKEYSINSLOT {slot} 100"));
    for key in &keys {
        source.run::<redis::Value>(&format!("MIGRATE 127.0.0.1 {} {key} 0 1000", target.port));
        charge(&limiter);
    }
    for _ in 0..10 {
        charge(&limiter);
    }
    for node in [target, source] {
        node.run::<()>(&format!("CLUSTER SETSLOT {slot} NODE {}", ids[to]));
    }
    for _ in 0..10 {
        charge(&limiter);
    }
    let together: Vec<_> = several.iter().map(|limit| Check::new(limit, "ada")).collect();
    assert!(!limiter.decide_sync(&together, Call::Limit).expect("several, where the slot is now").blocked);
    let left = limiter.peek_sync(&limit, "ada").expect("an answer").remaining;
    assert_eq!(left, 100_000 - 1 - calls, "every call was charged once");
}
