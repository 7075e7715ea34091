//! The cost of a failover, without waiting for replicas and with it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant, SystemTime};

use crate::calls::{SLACK, ask_within};
use crate::servers::proxy::Proxy;
use crate::servers::{Cluster, Server, wait_until};
use tidegate::redis::{RedisBuilder, Strategy};
use tidegate::remote::{BreakerState, Failure, OnError};
use tidegate::{Call, Check, Error, Limit, LimitInfo, Limiter, Redis};

const DEADLINE: Duration = Duration::from_millis(200);

fn hourly(size: u64) -> Limit {
    crate::calls::hourly("replicas", size)
}

fn store(url: &str, replicas: u32) -> RedisBuilder {
    let store = Redis::builder(url).timeout(DEADLINE).deny_cache(Duration::ZERO);
    store.on_error(OnError::Raise).wait_replicas(replicas)
}

fn over(server: &Server, replicas: u32) -> Limiter {
    Limiter::new(store(&server.url(), replicas).build().expect("a store"))
}

/// A limiter for tests that count, and do not look at the time.
fn patient(server: &Server, replicas: u32) -> Limiter {
    Limiter::new(store(&server.url(), replicas).timeout(Duration::from_secs(10)).build().expect("a store"))
}

fn admits(limiter: &Limiter, limit: &Limit, actor: &str) -> bool {
    !limiter.limit_sync(limit, actor).expect("an answer").blocked
}

/// One call, which must not take longer than a deadline.
fn ask(limiter: &Limiter, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
    ask_within(DEADLINE, limiter, limit, actor)
}

fn failure(answer: Result<LimitInfo, Error>) -> Option<Failure> {
    match answer {
        Ok(_) => None,
        Err(Error::Store(error)) => Some(error.failure()),
        Err(other) => panic!("{other}"),
    }
}

/// Calls until the store answers, and says how long that took.
fn recovery(limiter: &Limiter, limit: &Limit) -> Duration {
    wait_until("the store answers", || ask(limiter, limit, "recovery").is_ok_and(|info| !info.degraded))
}

/// The units of a limit that are charged, as this server knows it.
fn charged(server: &Server, limit: &Limit, size: u64, actor: &str) -> u64 {
    size - patient(server, 0).peek_sync(limit, actor).expect("an answer").remaining
}

/// Ends the primary, and makes the replica one.
fn fail_over(primary: &mut Server, replica: &Server) {
    primary.kill();
    replica.run::<()>("REPLICAOF NO ONE");
}

#[test]
fn a_failover_in_sync_loses_next_to_nothing() {
    let mut primary = Server::primary();
    let replica = primary.replica();
    let (limiter, limit) = (patient(&primary, 0), hourly(2500));
    assert!((0..2000).all(|_| admits(&limiter, &limit, "ada")));
    fail_over(&mut primary, &replica);
    let promoted = patient(&replica, 0);
    let more = (0..600).filter(|_| admits(&promoted, &limit, "ada")).count();
    println!("{more} admitted where 500 were left");
    assert!(more <= 510, "{more} admitted where 500 were left");
    assert!(more >= 500, "what was left is still there: {more}");
}

/// An instant by the clock of the servers too, which may be set while a test runs: what comes free follows it.
struct Began(Instant, SystemTime);

impl Began {
    fn now() -> Self {
        Self(Instant::now(), SystemTime::now())
    }

    /// The time since then, by the clock that went further.
    fn elapsed(&self) -> Duration {
        self.0.elapsed().max(self.1.elapsed().unwrap_or_default())
    }
}

#[test]
fn a_stalled_link_loses_the_rate_times_the_stall_and_no_more() {
    const SIZE: u64 = 3000;
    let limit = Limit::bucket("replicas", SIZE).drip_rate(Duration::from_millis(1)).build().expect("a bucket");
    let mut is_lost = false;
    for stall in [100, 400, 900] {
        let mut primary = Server::primary();
        let link = Proxy::to(primary.port);
        let replica = primary.replica_through(&link);
        let limiter = patient(&primary, 0);
        let charge = [Check::new(&limit, "ada").cost(SIZE)];
        let started = Began::now();
        let mut admitted = u64::from(!limiter.decide_sync(&charge, Call::Limit).expect("an answer").blocked) * SIZE;
        // As many as come through, for so long and until one is denied.
        let mut use_up = |limiter: &Limiter, during: Duration| {
            let began = Instant::now();
            loop {
                let more = admits(limiter, &limit, "ada");
                admitted += u64::from(more);
                if !more && began.elapsed() >= during {
                    return;
                }
            }
        };
        use_up(&limiter, Duration::from_millis(200));
        // A busy machine's replica may be behind before the link stalls. What was admitted until now is not lost.
        let stalled = Began::now();
        primary.is_followed_by(1);
        link.black_hole(true);
        use_up(&limiter, Duration::from_millis(stall));
        let stalled = stalled.elapsed();
        fail_over(&mut primary, &replica);
        let promoted = patient(&replica, 0);
        // Everything that has come free, too.
        use_up(&promoted, Duration::ZERO);
        let entitled = SIZE + u64::try_from(started.elapsed().as_millis()).expect("a short time");
        let extra = admitted.saturating_sub(entitled);
        let bound = stalled.as_secs_f64() * 1000.0;
        println!("{extra} too many at 1000 a second and a stall of {stalled:?}");
        assert!(extra as f64 <= 1.1 * bound, "{extra} too many after {stalled:?}");
        is_lost |= extra as f64 >= 0.5 * bound;
    }
    // A busy machine takes its time to promote a replica, in which nobody uses what comes free.
    assert!(is_lost, "a stalled link loses nothing, so the bound shows nothing");
}

#[test]
fn what_was_answered_after_waiting_survives_every_failover() {
    const SIZE: u64 = 500_000;
    const CALLERS: u64 = 8;
    let limit = hourly(SIZE);
    for stalls in [false, true] {
        let mut primary = Server::primary();
        let link = Proxy::to(primary.port);
        let replica = primary.replica_through(&link);
        // Whom the store does not answer is admitted, as most people want it.
        let limiter = Limiter::new(store(&primary.url(), 1).on_error(OnError::Allow).build().expect("a store"));
        recovery(&limiter, &limit);
        let (answered, in_flight, over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..CALLERS {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let info = ask(&limiter, &limit, "ada").expect("an answer");
                        if info.degraded {
                            in_flight.fetch_add(1, Ordering::Relaxed);
                            return;
                        }
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            sleep(Duration::from_millis(300));
            if stalls {
                link.black_hole(true);
                sleep(DEADLINE / 4);
            }
            primary.kill();
            sleep(DEADLINE + SLACK);
            over.store(true, Ordering::Relaxed);
        });
        replica.run::<()>("REPLICAOF NO ONE");
        let (answered, in_flight) = (answered.into_inner(), in_flight.into_inner());
        let kept = charged(&replica, &limit, SIZE, "ada");
        println!("stalls: {stalls}; {answered} answered, {in_flight} not, {kept} charged at the promoted one");
        assert!(answered > 50, "only {answered} calls");
        assert!(answered <= kept, "{} answers were lost", answered - kept);
        assert!((1..=CALLERS).contains(&in_flight) && answered + in_flight <= kept + CALLERS);
    }
}

#[test]
fn replicas_that_are_missing_cost_a_deadline_and_then_nothing() {
    let primary = Server::primary();
    let link = Proxy::to(primary.port);
    let mut replica = primary.replica_through(&link);
    let (limiter, limit) = (over(&primary, 1), hourly(100_000));
    recovery(&limiter, &limit);
    for how in ["stopped", "cut off", "killed"] {
        match how {
            "stopped" => replica.pause(),
            "cut off" => link.black_hole(true),
            _ => replica.kill(),
        }
        let before = limiter.stats().failures[&Failure::Unreplicated];
        assert_eq!(failure(ask(&limiter, &limit, "ada")), Some(Failure::Unreplicated), "{how}");
        let started = Instant::now();
        let (mut calls, mut slow) = (0, 0);
        while started.elapsed() < Duration::from_secs(2) {
            let asked = Instant::now();
            assert!(ask(&limiter, &limit, "ada").is_err(), "{how}");
            slow += u32::from(asked.elapsed() > DEADLINE / 2);
            calls += 1;
        }
        assert!(slow <= 6 && calls > 1000, "{how}: {slow} of {calls} calls waited for their deadlines");
        assert_eq!(limiter.stats().breaker, BreakerState::Open, "{how}");
        let missed = limiter.stats().failures[&Failure::Unreplicated] - before;
        assert!((1..=6).contains(&missed), "{how}: {missed}");
        match how {
            "stopped" => replica.resume(),
            "cut off" => {
                link.black_hole(false);
                // What was swallowed is missing from the stream, so it starts anew.
                link.cut();
                primary.is_followed_by(1);
            }
            _ => {
                replica.restart();
                primary.is_followed_by(1);
            }
        }
        let recovered = recovery(&limiter, &limit);
        println!("{how}: answered again after {recovered:?}");
        // A fraction of a second, but for a machine that is busy with other things.
        assert!(recovered < Duration::from_secs(5), "{how}: {recovered:?}");
        let left = limiter.peek_sync(&limit, "ada").expect("an answer").remaining;
        assert!(left < 100_000, "{how}: what was charged stands on the primary");
    }
}

#[test]
fn what_charges_nothing_waits_for_nobody() {
    let primary = Server::primary();
    let limiter = over(&primary, 1);
    let full = hourly(1);
    assert_eq!(failure(ask(&limiter, &full, "eve")), Some(Failure::Unreplicated));
    // Otherwise the next one comes while the server is still waiting.
    sleep(2 * DEADLINE);
    let started = Instant::now();
    assert!(ask(&limiter, &full, "eve").expect("a denial").blocked, "the charge stands");
    assert!(started.elapsed() < DEADLINE / 2, "a denial waits: {:?}", started.elapsed());
    sleep(2 * DEADLINE);
    let started = Instant::now();
    assert_eq!(limiter.peek_sync(&full, "eve").expect("an answer").remaining, 0);
    assert!(started.elapsed() < DEADLINE / 2, "a peek waits: {:?}", started.elapsed());
}

#[test]
fn what_changes_an_entry_waits_and_nothing_else() {
    let primary = Server::primary();
    let (limit, full) = (hourly(10), crate::calls::hourly("full", 1));
    let counted = Limit::sliding_log("counted", 1, Duration::from_hours(1)).count_blocked(true).build().expect("a log");
    for limit in [&full, &counted] {
        assert!(admits(&patient(&primary, 0), limit, "ada"));
    }
    let (check, denied) = (|| Check::new(&limit, "ada"), || Check::new(&full, "ada"));
    let undo = Call::Undo { charged_at: 1_784_000_000_000_000 };
    for (checks, call, waits) in [
        (vec![check()], Call::Charge, true),
        (vec![check()], Call::Refund, true),
        (vec![check()], Call::Reset, true),
        (vec![check().cost(2).spent(1)], undo, true),
        (vec![check().observed(), denied()], Call::Limit, true),
        (vec![Check::new(&counted, "ada")], Call::Limit, true),
        (vec![check(), denied()], Call::Limit, false),
        (vec![check().cost(0)], Call::Charge, false),
        (vec![check().cost(2).spent(2)], undo, false),
        (vec![check()], Call::Peek, false),
    ] {
        // One that waits is in the way of the next, so each has a connection of its own.
        let (limiter, mut answer) = (over(&primary, 1), None);
        wait_until("the store decides, however busy the machine is", || {
            answer = failure(limiter.decide_sync(&checks, call));
            answer.is_none_or(|failure| failure == Failure::Unreplicated)
        });
        assert_eq!(answer.is_some(), waits, "{call:?} of {checks:?}");
    }
}

#[test]
fn answers_say_why_they_are_no_answers() {
    let primary = Server::primary();
    let limiter = over(&primary, 2);
    let error = ask(&limiter, &hourly(1), "ada").expect_err("no replicas").to_string();
    let why = "the store did not decide: charged, but too few replicas have it in time, redis at 127.0.0.1:";
    assert!(error.starts_with(why), "{error}");
    assert_eq!(Failure::Unreplicated.name(), "unreplicated");
    let local = Limiter::new(store(&primary.url(), 2).on_error(OnError::Local).build().expect("a store"));
    assert!(ask(&local, &hourly(2), "bob").expect("the policy's answer").degraded);
}

#[test]
fn two_are_more_than_one() {
    let primary = Server::primary();
    let replicas = [primary.replica(), primary.replica()];
    primary.is_followed_by(2);
    let (one, two, limit) = (over(&primary, 1), over(&primary, 2), hourly(1000));
    for limiter in [&one, &two] {
        recovery(limiter, &limit);
    }
    replicas[0].pause();
    assert!(ask(&one, &limit, "ada").is_ok());
    assert_eq!(failure(ask(&two, &limit, "ada")), Some(Failure::Unreplicated));
    replicas[0].resume();
    assert!(recovery(&two, &limit) < Duration::from_secs(1));
}

/// Microseconds, the middle one of many calls, one after the other.
fn median(limiter: &Limiter, limit: &Limit) -> u128 {
    let mut times: Vec<_> = (0..1000)
        .map(|_| {
            let asked = Instant::now();
            limiter.limit_sync(limit, "ada").expect("an answer");
            asked.elapsed().as_micros()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn waiting_takes_one_round_trip_still() {
    let primary = Server::primary();
    let _replica = primary.replica();
    let limit = hourly(500_000);
    let times = [0, 1].map(|replicas| {
        let limiter = patient(&primary, replicas);
        wait_until("the replica follows", || limiter.limit_sync(&limit, "recovery").is_ok());
        let before = limiter.stats();
        let time = median(&limiter, &limit);
        let after = limiter.stats();
        assert_eq!((after.batches - before.batches, after.store_calls - before.store_calls), (1000, 1000));
        time
    });
    println!("median of a decision: {} µs, {} µs waiting for one replica", times[0], times[1]);
    // Many at once share one wait.
    let limiter = patient(&primary, 1);
    wait_until("the replica follows", || limiter.limit_sync(&limit, "recovery").is_ok());
    let waits = || {
        let stats = primary.run::<String>("INFO commandstats");
        let line = stats.lines().find(|line| line.starts_with("cmdstat_wait:")).expect("it waits").to_owned();
        line.split(['=', ',']).nth(1).and_then(|calls| calls.parse::<u64>().ok()).expect("a count")
    };
    let before = (waits(), limiter.stats().batches);
    thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| (0..50).for_each(|_| drop(limiter.limit_sync(&limit, "bob").expect("an answer"))));
        }
    });
    let (waited, batches) = (waits() - before.0, limiter.stats().batches - before.1);
    assert_eq!(waited, batches, "one for a batch");
    assert!(batches < 1600, "{batches} batches for 1600 decisions");
    let before = waits();
    limiter.peek_sync(&limit, "bob").expect("an answer");
    assert_eq!(waits(), before, "there is nothing to wait for");
}

#[test]
fn transactions_wait_as_scripts_do() {
    let primary = Server::primary();
    let mut replica = primary.replica();
    let limiter = Limiter::new(store(&primary.url(), 1).strategy(Strategy::Transactions).build().expect("a store"));
    let limit = hourly(3);
    let blocked: Vec<_> = (0..4).map(|_| ask(&limiter, &limit, "ada").expect("an answer").blocked).collect();
    assert_eq!(blocked, [false, false, false, true]);
    assert_eq!(replica.run::<u64>("GET rl_ada_replicas_c"), 3);
    replica.kill();
    assert_eq!(failure(ask(&limiter, &limit, "bob")), Some(Failure::Unreplicated));
    assert_eq!(primary.run::<u64>("GET rl_bob_replicas_c"), 1, "the charge stands");
    wait_until("the breaker opens", || {
        let _ = ask(&limiter, &hourly(1000), "eve");
        limiter.stats().breaker == BreakerState::Open
    });
    sleep(Duration::from_millis(500));
    assert_eq!(limiter.stats().breaker, BreakerState::Open, "a probe looks for replicas too");
    replica.restart();
    primary.is_followed_by(1);
    assert!(recovery(&limiter, &hourly(1000)) < Duration::from_secs(1));
}

#[test]
fn every_node_of_a_cluster_waits_for_replicas_of_its_own() {
    let cluster = Cluster::start(1);
    let (limiter, limit) = (Limiter::new(store(&cluster.url(), 1).build().expect("a store")), hourly(10_000));
    let actors: Vec<String> = (0..30).map(|number| format!("actor {number}")).collect();
    // Whatever the time: a machine that starts or wakes six servers is busy.
    let answers = |actor: &String| limiter.limit_sync(&limit, actor).is_ok();
    wait_until("every node answers", || actors.iter().all(answers));
    let scattered: Vec<_> = actors.iter().map(|actor| Check::new(&limit, actor)).collect();
    assert!(!limiter.decide_sync(&scattered, Call::Limit).expect("an answer").blocked);

    // Where one node does not answer, it does not matter that the replicas of the others do. No look comes before.
    let primaries = |node: &&Server| node.run::<String>("INFO replication").contains("role:master");
    let primary = cluster.nodes.iter().find(primaries).expect("a primary");
    primary.pause();
    let answer = limiter.decide_sync(&scattered, Call::Charge);
    primary.resume();
    assert_eq!(failure(answer), Some(Failure::Timeout));
    wait_until("every node answers", || actors.iter().all(answers));

    let replica = (0..cluster.nodes.len())
        .find(|node| cluster.nodes[*node].run::<String>("INFO replication").contains("role:slave"))
        .expect("a replica");
    cluster.nodes[replica].pause();
    assert_eq!(failure(limiter.decide_sync(&scattered, Call::Limit)), Some(Failure::Unreplicated));
    let started = Instant::now();
    let mut told = [0, 0];
    while started.elapsed() < Duration::from_secs(1) {
        for actor in &actors {
            match failure(ask(&limiter, &limit, actor)) {
                None => told[0] += 1,
                // A server that waits for replicas answers nothing else over that connection.
                Some(Failure::Unreplicated | Failure::Timeout | Failure::Unavailable) => told[1] += 1,
                Some(other) => panic!("{other}"),
            }
        }
    }
    assert!(told[0] > 100 && told[1] > 100, "two nodes answer and one does not: {told:?}");
    let unreplicated = limiter.stats().failures[&Failure::Unreplicated];
    assert!(unreplicated <= 5, "{unreplicated} calls waited for their deadlines");
    cluster.nodes[replica].resume();
    let healed = wait_until("every node answers", || actors.iter().all(answers));
    assert!(healed < Duration::from_secs(2), "{healed:?}");
}

#[test]
fn whoever_waits_needs_a_right_to() {
    let primary = Server::primary();
    let _replica = primary.replica();
    let user = "+eval +evalsha +script|load +get +set +pexpire +time +ping +hello +client";
    let url = format!("redis://app:secret@127.0.0.1:{}", primary.port);
    let limit = hourly(1000);
    primary.run::<()>(&format!("ACL SETUSER app on >secret ~tidegate:* {user}"));
    let limiter = Limiter::new(store(&url, 1).build().expect("a store"));
    assert_eq!(failure(ask(&limiter, &limit, "ada")), Some(Failure::Denied));
    primary.run::<()>("ACL SETUSER app +wait");
    assert!(ask(&limiter, &limit, "ada").is_ok());
}

#[test]
fn a_restart_forgets_what_was_not_kept() {
    let limit = hourly(100);
    let admitted = |server: &Server| {
        let limiter = patient(server, 0);
        (0..150).filter(|_| admits(&limiter, &limit, "ada")).count()
    };
    let log = ["--appendonly", "yes", "--appendfsync", "always"];
    for (arguments, extra) in [(&[][..], 100), (&log[..], 0)] {
        let mut server = Server::with(arguments);
        assert_eq!(admitted(&server), 100);
        server.kill();
        server.restart();
        wait_until("it has loaded", || server.run::<String>("INFO persistence").contains("loading:0"));
        assert_eq!(admitted(&server), extra, "{arguments:?}");
    }
}
