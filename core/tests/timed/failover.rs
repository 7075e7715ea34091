//! Another server takes over: sentinels name the next primary, and a cluster promotes a replica.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::{ask_within, hourly, raising};
use crate::servers::fake::Fake;
use crate::servers::{Cluster, Server, free_port, wait_until};
use tidegate::remote::{BreakerState, Failure};
use tidegate::{Error, Limit, LimitInfo, Limiter};

const DEADLINE: Duration = Duration::from_millis(200);

fn ask(limiter: &Limiter, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
    ask_within(DEADLINE, limiter, limit, actor)
}

/// Calls until the store answers, and says how long that took.
fn recovery(limiter: &Limiter, limit: &Limit, actor: &str) -> Duration {
    wait_until("the store answers", || ask(limiter, limit, actor).is_ok())
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

/// Each look connects to every node of the cluster.
#[test]
fn the_map_is_looked_at_more_rarely_the_longer_a_node_fails() {
    let (own, looks) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (own_port, counted) = (own.clone(), looks.clone());
    let fake = Fake::start(move |words, _| match words.get(1).map(String::as_str) {
        Some("SLOTS") => {
            counted.fetch_add(1, Ordering::Relaxed);
            let range =
                |first, last, port| format!("*3\r\n:{first}\r\n:{last}\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n");
            let port = own_port.load(Ordering::Relaxed);
            Some(format!("*2\r\n{}{}", range(0, 8191, port), range(8192, 16_383, 1)))
        }
        _ => Some("-NOPERM this user has no permissions\r\n".to_owned()),
    });
    own.store(usize::from(fake.port), Ordering::Relaxed);
    let limiter = raising(&format!("redis+cluster://127.0.0.1:{}", fake.port), DEADLINE);
    wait_until("a node has failed", || limiter.stats().breaker == BreakerState::Open);
    thread::sleep(Duration::from_secs(8));
    let before = looks.load(Ordering::Relaxed);
    thread::sleep(Duration::from_secs(2));
    let often = looks.load(Ordering::Relaxed) - before;
    assert!(often <= 13, "{often} looks in two seconds, eight seconds after a node has failed");
}
