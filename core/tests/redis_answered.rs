//! Every call is answered, by the store or by the policy, whatever becomes of the way to the store.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::{hourly, over_in, well_in};
use crate::servers::fake::Fake;
use crate::servers::{Cluster, Server, wait_until};
use futures_util::future::join_all;
use tidegate::ffi;
use tidegate::remote::{BreakerState, OnError};
use tidegate::{Call, Check, LimitInfo, Limiter};

const DEADLINE: Duration = Duration::from_millis(200);
/// The time that a busy machine may add; a call that is forgotten is never answered at all.
const SLACK: Duration = Duration::from_millis(500);
/// Never waited out, however busy the machine is.
const SOON: Duration = Duration::from_secs(20);

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn slots(port: u16) -> String {
    format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n")
}

#[test]
fn calls_under_way_to_a_node_that_leaves_the_map_are_answered() {
    // Enough for the heir to decide, however busy the machine is.
    const DEADLINE: Duration = Duration::from_millis(600);
    let heir = Server::start();
    let heirs_port = heir.port;
    let (own, left) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (own_port, leaves) = (own.clone(), left.clone());
    // One call is sent to a node that has everything from then on, the other is never answered.
    let fake = Fake::start(move |words, calls| match (words[0].as_str(), calls) {
        ("CLUSTER", _) if leaves.load(Ordering::Relaxed) => Some(slots(heirs_port)),
        ("CLUSTER", _) => Some(slots(u16::try_from(own_port.load(Ordering::Relaxed)).expect("a port"))),
        (_, 2) => None,
        _ => {
            leaves.store(true, Ordering::Relaxed);
            Some(format!("-MOVED 1 127.0.0.1:{heirs_port}\r\n"))
        }
    });
    own.store(usize::from(fake.port), Ordering::Relaxed);
    let limiter = over_in(&format!("redis+cluster://127.0.0.1:{}", fake.port), OnError::Allow, DEADLINE);
    let limit = hourly("leaving", 10);
    let (answered, answers) = channel();
    let ask = |actor: &'static str| {
        let (answered, started) = (answered.clone(), Instant::now());
        let done = move |answer: Result<LimitInfo, _>| {
            answered.send((actor, answer.map(|info| info.degraded), started.elapsed())).map_err(|_| unreachable!())
        };
        assert!(ffi::start(&limiter, &[Check::new(&limit, actor)], Call::Limit, None, done).is_none());
    };
    thread::sleep(DEADLINE);
    ask("held");
    thread::sleep(DEADLINE / 8);
    ask("moved");
    let mut heard = Vec::new();
    for _ in 0..2 {
        let (actor, degraded, after) = answers.recv_timeout(SOON).expect("every call is answered");
        assert!(after < DEADLINE + SLACK, "{actor} after {after:?}");
        heard.push((actor, degraded.expect("the policy answers")));
    }
    // Answers come in order, so the one there is belongs to the first call. The heir decides that, and nobody the other.
    assert_eq!(heard, [("held", false), ("moved", true)]);
    wait_until("the heir decides", || limiter.limit_sync(&limit, "later").is_ok_and(|info| !info.degraded));
}

/// Has the next replica that is in step take over from its primary, and waits until it has.
fn fail_over(cluster: &Cluster, round: usize) {
    let role = |node: &Server, role: &str| node.run::<String>("INFO replication").contains(role);
    let in_step = |node: &&Server| role(node, "role:slave") && role(node, "master_link_status:up");
    let mut heir = None;
    wait_until("a replica is in step", || {
        // Not the last one's: that has only just changed hands.
        heir = cluster.nodes.iter().cycle().skip(round % cluster.nodes.len()).take(cluster.nodes.len()).find(in_step);
        heir.is_some()
    });
    let heir = heir.expect("a replica");
    let ask = || redis::cmd("CLUSTER").arg("FAILOVER").query::<String>(&mut heir.connect()).is_ok();
    let mut asked = None;
    wait_until("a replica has taken over", || {
        // One that loses its election is asked again.
        if asked.is_none_or(|asked: Instant| asked.elapsed() > Duration::from_secs(2)) && ask() {
            asked = Some(Instant::now());
        }
        role(heir, "role:master")
    });
}

#[test]
fn thirty_failovers_under_load_leave_no_call_unanswered() {
    const FAILOVERS: usize = 30;
    let cluster = Cluster::start(1);
    let limiter = well_in(&cluster.url(), OnError::Allow, DEADLINE);
    let limit = hourly("failovers", 100_000);
    let over = Arc::new(AtomicBool::new(false));
    let failing_over = over.clone();
    let (late, starved) = (Mutex::new(Vec::new()), Mutex::new(Duration::ZERO));
    let (failovers, calls, degraded) = thread::scope(|scope| {
        let failovers = scope.spawn(|| {
            // However it ends, the callers end too.
            let ends = Ends(failing_over);
            let mut done = 0;
            while done < FAILOVERS {
                fail_over(&cluster, done);
                done += 1;
            }
            drop(ends);
            done
        });
        let (calls, degraded) = runtime().block_on(async {
            let caller = async |caller: usize| {
                let (mut calls, mut degraded) = (0_usize, 0_usize);
                while !over.load(Ordering::Relaxed) {
                    let (actor, asked) = (format!("actor {caller} {}", calls % 50), Instant::now());
                    // A busy machine may stop for seconds; a call that was forgotten is never answered.
                    let answer = tokio::time::timeout(Duration::from_secs(30), limiter.limit(&limit, &actor)).await;
                    let info = answer.unwrap_or_else(|_| panic!("{actor} was never answered")).expect("an answer");
                    if asked.elapsed() > DEADLINE + Duration::from_millis(20) {
                        late.lock().expect("a lock").push(asked.elapsed());
                    }
                    calls += 1;
                    degraded += usize::from(info.degraded);
                    let (pause, paused) = (Duration::from_millis(2), Instant::now());
                    tokio::time::sleep(pause).await;
                    let mut starved = starved.lock().expect("a lock");
                    *starved = paused.elapsed().saturating_sub(pause).max(*starved);
                }
                (calls, degraded)
            };
            let each = join_all((0..32).map(caller)).await;
            each.into_iter().fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
        });
        (failovers.join().expect("every failover is done"), calls, degraded)
    });
    let (late, starved) = (late.into_inner().expect("a lock"), starved.into_inner().expect("a lock"));
    println!("{failovers} failovers, {calls} calls, {degraded} degraded, {} late; starved for {starved:?}", late.len());
    assert!(failovers >= FAILOVERS && calls > 1000, "{failovers} failovers, {calls} calls");
    assert!(late.iter().all(|after| *after < DEADLINE + SLACK + starved), "{late:?}");
    // Two of three primaries are there at any time.
    assert!(degraded * 3 <= calls, "{degraded} of {calls} degraded");
}

/// Says that something is over when it is dropped.
struct Ends(Arc<AtomicBool>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_slot_in_motion_is_nobody_elses_trouble() {
    // One call after another that a store decides has to be in time.
    const DEADLINE: Duration = Duration::from_millis(500);
    let cluster = Cluster::start(0);
    let limiter = well_in(&cluster.url(), OnError::Allow, DEADLINE);
    let limits = [hourly("m1", 1000), hourly("m2", 1000)];
    let slot: u64 = cluster.nodes[0].run("CLUSTER KEYSLOT ada");
    for limit in &limits {
        limiter.limit_sync(limit, "ada").expect("an answer");
    }
    let has_it = |node: &&Server| node.run::<u64>(&format!("CLUSTER COUNTKEYSINSLOT {slot}")) > 0;
    let source = cluster.nodes.iter().find(has_it).expect("somebody has the slot");
    let target = cluster.nodes.iter().find(|node| node.port != source.port).expect("somebody else");
    let [from, to] = [source, target].map(|node| node.run::<String>("CLUSTER MYID"));
    target.run::<()>(&format!("CLUSTER SETSLOT {slot} IMPORTING {from}"));
    source.run::<()>(&format!("CLUSTER SETSLOT {slot} MIGRATING {to}"));
    let keys: Vec<String> = source.run(&format!("CLUSTER GETKEYSINSLOT {slot} 100"));
    source.run::<redis::Value>(&format!("MIGRATE 127.0.0.1 {} {} 0 1000", target.port, keys[0]));
    // Two keys, of which one has moved: nobody can decide about both.
    let neighbours: Vec<String> = (0..10_000).map(|number| format!("actor {number}")).collect();
    let neighbours: Vec<_> = neighbours
        .iter()
        .filter(|actor| {
            let info = limiter.limit_sync(&limits[0], actor).expect("an answer");
            assert!(!info.degraded);
            let slot: u64 = source.run(&format!("CLUSTER KEYSLOT {}", actor.replace(' ', "%20")));
            source.run::<u64>(&format!("CLUSTER COUNTKEYSINSLOT {slot}")) > 0
        })
        .take(5)
        .collect();
    assert_eq!(neighbours.len(), 5);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..4 {
                    let both = limits.each_ref().map(|limit| Check::new(limit, "ada"));
                    assert!(limiter.decide_sync(&both, Call::Limit).expect("the policy's answer").degraded);
                }
            });
        }
        let (mut calls, mut degraded, started) = (0, 0, Instant::now());
        while started.elapsed() < DEADLINE * 4 {
            for actor in &neighbours {
                calls += 1;
                degraded += u32::from(limiter.limit_sync(&limits[0], actor).expect("an answer").degraded);
            }
            assert_eq!(limiter.stats().breaker, BreakerState::Closed);
        }
        assert!(degraded * 50 <= calls, "{degraded} of {calls} degraded");
    });
}

#[test]
fn single_calls_of_one_thread_and_of_many_are_each_decided_once() {
    let server = Server::start();
    // Nothing else would send a call that was forgotten, so it would be late.
    let limiter = well_in(&server.url(), OnError::Raise, Duration::from_secs(5));
    let limit = hourly("single", 100_000);
    let calls = |count: usize| (0..count).for_each(|_| drop(limiter.limit_sync(&limit, "ada").expect("an answer")));
    calls(2000);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| calls(1000));
        }
    });
    calls(1000);
    let stats = limiter.stats();
    assert_eq!(limiter.peek_sync(&limit, "ada").expect("an answer").remaining, 100_000 - 9000);
    assert!(stats.batches >= 3000, "{stats:?}");
}

#[test]
fn a_call_outlives_the_runtime_that_it_was_sent_over() {
    let server = Server::start();
    let (first, second) = (runtime(), runtime());
    let limiter = first.block_on(async { over_in(&server.url(), OnError::Allow, Duration::from_secs(5)) });
    let limit = hourly("runtimes", 10);
    let mut call = pin!(limiter.limit(&limit, "ada"));
    first.block_on(async {
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    });
    drop(first);
    let started = Instant::now();
    let info = second.block_on(call).expect("the policy's answer");
    assert!(info.degraded && started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    assert!(!second.block_on(limiter.limit(&limit, "ada")).expect("an answer").degraded);
}

#[test]
fn a_callback_that_panics_takes_nobody_with_it() {
    let server = Server::start();
    // To print where it panicked takes the runtime's thread a while.
    let limiter = well_in(&server.url(), OnError::Raise, SOON);
    let limit = hourly("panics", 1000);
    for _ in 0..3 {
        let check = [Check::new(&limit, "ada")];
        assert!(ffi::start(&limiter, &check, Call::Limit, None, |_| panic!("a callback of a test")).is_none());
    }
    assert!(!limiter.limit_sync(&limit, "ada").expect("the store's answer").degraded);
}

#[test]
fn a_limiter_that_is_dropped_answers_what_is_under_way() {
    let fake = Fake::start(|_, _| None);
    let limiter: Limiter = over_in(&format!("redis://127.0.0.1:{}", fake.port), OnError::Allow, DEADLINE);
    let limit = hourly("dropped", 10);
    let (answered, answers) = channel();
    for _ in 0..20 {
        let answered = answered.clone();
        let done = move |answer: Result<LimitInfo, _>| answered.send(answer.is_ok()).map_err(|_| unreachable!());
        assert!(ffi::start(&limiter, &[Check::new(&limit, "ada")], Call::Limit, None, done).is_none());
    }
    drop(limiter);
    for _ in 0..20 {
        assert!(answers.recv_timeout(SOON).expect("every call is answered"));
    }
}
