//! One server, one behind sentinels, a cluster; over sockets of every kind.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::{ask_within, hourly};
use crate::servers::proxy::Proxy;
use crate::servers::{Cluster, Server, free_port, wait_until};
use tidegate::remote::{BreakerState, Failure, OnError};
use tidegate::{Call, Check, Error, Limit, LimitInfo, Limiter, Redis};

const DEADLINE: Duration = Duration::from_millis(200);

/// Longer than a busy machine takes, where no server fails.
const PATIENT: Duration = Duration::from_secs(10);

fn raising(url: &str, timeout: Duration) -> Limiter {
    let store = Redis::builder(url).timeout(timeout).on_error(OnError::Raise).deny_cache(Duration::ZERO);
    Limiter::new(store.listener(|event| eprintln!("{event}")).build().expect("a store"))
}

fn ask(limiter: &Limiter, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
    ask_within(DEADLINE, limiter, limit, actor)
}

/// Calls until the store answers, and says how long that took.
fn recovery(limiter: &Limiter, limit: &Limit, actor: &str) -> Duration {
    wait_until("the store answers", || ask(limiter, limit, actor).is_ok())
}

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
fn sentinels_name_the_primary_and_the_next_one() {
    let mut primary = Server::start();
    let replica = primary.replica();
    let sentinels: Vec<_> = (0..3)
        .map(|_| {
            let port = free_port();
            let config = std::env::temp_dir().join(format!("tidegate-sentinel-{port}.conf"));
            let watched = format!(
                "sentinel monitor shop 127.0.0.1 {} 2\nsentinel down-after-milliseconds shop 500\n\
                 sentinel failover-timeout shop 2000\n",
                primary.port
            );
            fs::write(&config, watched).expect("a file");
            Server::on(port, &[&config.to_string_lossy(), "--sentinel"])
        })
        .collect();
    let hosts: Vec<_> = sentinels.iter().map(|sentinel| format!("127.0.0.1:{}", sentinel.port)).collect();
    let limiter = raising(&format!("redis+sentinel://{}/shop", hosts.join(",")), DEADLINE);
    let limit = hourly("sentinels", 1000);
    recovery(&limiter, &limit, "ada");
    wait_until("the sentinels know each other and the replica", || {
        let masters = sentinels[0].run::<redis::Value>("SENTINEL MASTER shop");
        let words: Vec<String> = redis::from_redis_value(masters).expect("words");
        let of = |name: &str| words.iter().position(|word| word == name).map(|at| words[at + 1].clone());
        of("num-other-sentinels").as_deref() == Some("2") && of("num-slaves").as_deref() == Some("1")
    });

    let before = ask(&limiter, &limit, "ada").expect("an answer").remaining;
    wait_until("the replica has it all", || replica.run::<u64>("DBSIZE") > 0);
    let named = || sentinels[0].run::<Vec<String>>("SENTINEL GET-MASTER-ADDR-BY-NAME shop");
    let first = named();
    primary.kill();
    let (outage, until_named) = thread::scope(|scope| {
        let naming = scope.spawn(|| wait_until("a sentinel names the next one", || named() != first));
        (recovery(&limiter, &limit, "bob"), naming.join().expect("it does"))
    });
    println!("outage {outage:?}, until a sentinel names the next one {until_named:?}");
    // How long the sentinels take is theirs.
    assert!(outage < until_named + Duration::from_millis(500), "{outage:?}, named after {until_named:?}");
    let after = ask(&limiter, &limit, "ada").expect("an answer").remaining;
    assert!(after < before, "what was charged before the failover still counts: {after} after {before}");

    let nobody = raising(&format!("redis+sentinel://{}/nobody", hosts.join(",")), DEADLINE);
    assert!(matches!(ask(&nobody, &limit, "ada"), Err(Error::Store(_))));
    for sentinel in &sentinels {
        let _ = fs::remove_file(std::env::temp_dir().join(format!("tidegate-sentinel-{}.conf", sentinel.port)));
    }
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

fn is_primary(node: &Server) -> bool {
    node.run::<String>("INFO replication").contains("role:master")
}

#[test]
fn a_cluster_outlives_a_primary_that_dies_or_hangs() {
    for hangs in [false, true] {
        let mut cluster = Cluster::start(1);
        let limiter = raising(&cluster.url(), DEADLINE);
        let limit = hourly("failover", 100_000);
        let actors: Vec<String> = (0..40).map(|number| format!("actor {number}")).collect();
        // A busy machine may connect to six servers for longer than a call has.
        wait_until("all are answered", || actors.iter().all(|actor| ask(&limiter, &limit, actor).is_ok()));
        let victim = (0..cluster.nodes.len()).find(|node| is_primary(&cluster.nodes[*node])).expect("a primary");
        if hangs {
            cluster.nodes[victim].pause();
        } else {
            cluster.nodes[victim].kill();
        }
        let started = Instant::now();
        let replicas: Vec<_> = (0..cluster.nodes.len()).filter(|node| *node != victim).collect();
        let primaries = || replicas.iter().filter(|node| is_primary(&cluster.nodes[**node])).count();
        let mut promoted = None;
        let mut lost: BTreeSet<&String> = actors.iter().collect();
        let mut failed = 0;
        while !lost.is_empty() {
            assert!(started.elapsed() < Duration::from_secs(15), "{} actors are still lost", lost.len());
            if promoted.is_none() && primaries() == 3 {
                promoted = Some(Instant::now());
            }
            for actor in &actors {
                match ask(&limiter, &limit, actor) {
                    Ok(_) => drop(lost.remove(actor)),
                    Err(Error::Store(error)) => {
                        assert_ne!(error.failure(), Failure::Other, "{error}");
                        failed += 1;
                        lost.insert(actor);
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        }
        let behind = promoted.map(|instant| instant.elapsed());
        println!(
            "hangs: {hangs}; outage {:?}, {behind:?} of it past the promotion; {failed} failed",
            started.elapsed()
        );
        assert!(behind.is_none_or(|behind| behind < Duration::from_secs(1)), "{behind:?} after the promotion");
        wait_until("nothing is asked of the one that is gone", || {
            actors.iter().all(|actor| ask(&limiter, &limit, actor).is_ok())
                && limiter.stats().breaker == BreakerState::Closed
        });
        if hangs {
            cluster.nodes[victim].resume();
        }
    }
}
