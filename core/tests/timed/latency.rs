//! Round trips that are long, and servers that answer and do not decide.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::{SLACK, hourly, over_in, raising, well_in};
use crate::servers::proxy::Proxy;
use crate::servers::{Cluster, Server, wait_until};
use futures_util::future::join_all;
use tidegate::redis::Strategy;
use tidegate::remote::{EventKind, Failure, OnError};
use tidegate::{Call, Check, Limit, Limiter, Redis};

const DEADLINE: Duration = Duration::from_millis(200);
/// For a busy machine; what counts is how long round trips are beside it.
const LONG_DEADLINE: Duration = Duration::from_millis(600);
/// Long, so that no machine is too slow for it.
const PATIENT: Duration = Duration::from_secs(10);
const CALLERS: usize = 64;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

/// Many callers at once for a while: how many calls the store answered, and how many the policy did.
async fn load(limiter: &Limiter, limit: &Limit, deadline: Duration, deadlines: u32) -> (usize, usize) {
    let until = Instant::now() + deadline * deadlines;
    let caller = async |number: usize| {
        let (mut decided, mut degraded) = (0, 0);
        // They do not come all at the same time.
        let share = deadline / u32::try_from(CALLERS).expect("few");
        tokio::time::sleep(share * u32::try_from(number).expect("few")).await;
        while Instant::now() < until {
            if limiter.limit(limit, "ada").await.expect("an answer").degraded {
                degraded += 1;
                // Without the store an answer is there at once; nobody asks again at once.
                tokio::time::sleep(deadline / 20).await;
            } else {
                decided += 1;
            }
        }
        (decided, degraded)
    };
    let each = join_all((0..CALLERS).map(caller)).await;
    each.into_iter().fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
}

#[test]
fn round_trips_within_the_deadline_degrade_nobody() {
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    let limit = hourly("latency", 500_000);
    let try_at = |percent| {
        proxy.round_trip(LONG_DEADLINE * percent / 100);
        // Over the runtime that the limiter is made in.
        let (decided, degraded) = block_on(async {
            let limiter = over_in(&proxy.url(), OnError::Allow, LONG_DEADLINE);
            while limiter.limit(&limit, "bob").await.expect("an answer").degraded {
                tokio::time::sleep(LONG_DEADLINE / 50).await;
            }
            load(&limiter, &limit, LONG_DEADLINE, 4).await
        });
        println!("at {percent} %: {decided} decided, {degraded} degraded");
        degraded * 100 <= decided + degraded && decided >= CALLERS * 3
    };
    for percent in [20, 50, 80] {
        // A machine that stops for a tenth of a second does not do so each time.
        assert!((0..3).any(|_| try_at(percent)), "at {percent} %");
    }
}

/// Round trips of nine tenths of the deadline leave no call an eighth of it to wait for batches that are under way.
#[test]
fn a_long_round_trip_leaves_little_time_to_wait_for_others() {
    const DEADLINE: Duration = Duration::from_secs(1);
    let server = Server::start();
    let limit = hourly("long", 500_000);
    let try_once = || {
        let proxy = Proxy::to(server.port);
        server.run::<()>("CONFIG RESETSTAT");
        block_on(async {
            let limiter = over_in(&proxy.url(), OnError::Allow, DEADLINE);
            while !server.run::<String>("INFO commandstats").contains("cmdstat_evalsha") {
                tokio::time::sleep(DEADLINE / 50).await;
            }
            tokio::time::sleep(DEADLINE / 10).await;
            proxy.round_trip(DEADLINE * 9 / 10);
            let is_decided = async |actor| !limiter.limit(&limit, actor).await.expect("an answer").degraded;
            // The first one tells how long it takes. Of the others, two are under way when the last one comes.
            let is_known = is_decided("eve").await;
            let later = async |hundredths| {
                tokio::time::sleep(DEADLINE * hundredths / 100).await;
                is_decided("ada").await
            };
            is_known && join_all([0, 4, 8].map(later)).await == [true; 3]
        })
    };
    assert!((0..3).any(|_| try_once()), "the last one waits for too long");
}

#[test]
fn first_calls_open_no_breaker() {
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    proxy.round_trip(DEADLINE * 8 / 10);
    let heard: Arc<Mutex<Vec<EventKind>>> = Arc::default();
    let listener = heard.clone();
    let store = Redis::builder(&proxy.url()).timeout(DEADLINE).on_error(OnError::Allow);
    let store = store.listener(move |event| listener.lock().expect("a lock").push(event.kind));
    let (limiter, limit) = (Limiter::new(store.build().expect("a store")), hourly("first", 500_000));
    let (decided, degraded) = block_on(load(&limiter, &limit, DEADLINE, 8));
    // Those that came before there was a connection: it takes a round trip to greet, and one to decide.
    assert!(decided > degraded, "{decided} decided, {degraded} degraded");
    let heard = heard.lock().expect("a lock");
    assert!(!heard.iter().any(|kind| matches!(kind, EventKind::BreakerOpen(_))), "{heard:?}");
}

#[test]
fn a_connection_is_there_before_the_first_call() {
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    // So long a deadline that no second attempt to connect is made, however busy the machine.
    let (started, limiter) = (Instant::now(), over_in(&proxy.url(), OnError::Raise, DEADLINE * 10));
    assert!(started.elapsed() < DEADLINE * 5, "nobody waits for it: {:?}", started.elapsed());
    let is_greeted = || server.run::<String>("INFO commandstats").contains("cmdstat_evalsha");
    wait_until("the server is greeted", is_greeted);
    assert_eq!(proxy.opened(), 1);
    limiter.limit_sync(&hourly("first", 10), "ada").expect("an answer");
    assert_eq!(proxy.opened(), 1);
}

/// The units charged, as the server says without a detour.
fn charged(server: &Server, limit: &Limit, size: u64) -> u64 {
    let limiter = well_in(&server.url(), OnError::Raise, DEADLINE * 10);
    size - limiter.peek_sync(limit, "ada").expect("an answer").remaining
}

#[test]
fn what_the_policy_answered_is_not_charged() {
    const SIZE: u64 = 500_000;
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    let (limiter, limit) = (well_in(&proxy.url(), OnError::Allow, DEADLINE), hourly("ghosts", SIZE));
    let mut ok = 0;
    block_on(async {
        // Long from the beginning, all at once, and never mind which way is the long one.
        for _ in 0..2 {
            proxy.round_trip(DEADLINE * 3 / 2);
            ok += load(&limiter, &limit, DEADLINE, 4).await.0;
            proxy.round_trip(Duration::ZERO);
            ok += load(&limiter, &limit, DEADLINE, 3).await.0;
            proxy.delay(DEADLINE * 3 / 2);
            ok += load(&limiter, &limit, DEADLINE, 4).await.0;
            proxy.delay(Duration::ZERO);
            ok += load(&limiter, &limit, DEADLINE, 3).await.0;
        }
    });
    let timed_out = limiter.stats().failures[&Failure::Timeout];
    assert!(timed_out >= 2 * CALLERS as u64, "{timed_out} timed out");
    assert!(ok > CALLERS * 20, "{ok} decided");
    let mut ghosts = 0;
    wait_until("what came too late is given back", || {
        ghosts = charged(&server, &limit, SIZE).abs_diff(ok as u64);
        ghosts * 100 <= timed_out
    });
    println!("{ok} decided, {timed_out} timed out, {ghosts} of them charged");
}

#[test]
fn one_answer_that_is_too_late_shows_how_long_the_way_is() {
    const SIZE: u64 = 100;
    let server = Server::start();
    let direct = well_in(&server.url(), OnError::Raise, DEADLINE * 10);
    let try_once = |key: &str| {
        let proxy = Proxy::to(server.port);
        let (limiter, limit) = (well_in(&proxy.url(), OnError::Allow, DEADLINE), hourly(key, SIZE));
        let ask = || assert!(limiter.limit_sync(&limit, "ada").expect("the policy's answer").degraded);
        let charged = || SIZE - direct.peek_sync(&limit, "ada").expect("an answer").remaining;
        proxy.delay(DEADLINE * 3 / 2);
        ask();
        let is_charged = charged() == 1;
        wait_until("the answer has come, and it is given back", || charged() == 0);
        ask();
        is_charged.then(|| assert_eq!(charged(), 0, "the server is told an earlier deadline"))
    };
    // On a busy machine the first may come to the server too late.
    assert!(["first", "second", "third"].into_iter().any(|key| try_once(key).is_some()));
}

#[test]
fn what_is_too_late_is_given_back_beside_an_observed_denial() {
    const SIZE: u64 = 100;
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    let direct = well_in(&server.url(), OnError::Raise, DEADLINE * 10);
    let limiter = well_in(&proxy.url(), OnError::Allow, DEADLINE);
    let (limit, narrow) = (hourly("late", SIZE), hourly("narrow", 1));
    direct.limit_sync(&narrow, "ada").expect("an answer");
    proxy.delay(DEADLINE * 3 / 2);
    let checks = [Check::new(&limit, "ada"), Check::new(&narrow, "ada").observed()];
    assert!(limiter.decide_sync(&checks, Call::Limit).expect("the policy's answer").degraded);
    wait_until("it is given back", || direct.peek_sync(&limit, "ada").expect("an answer").remaining == SIZE);
}

#[test]
fn a_server_that_answers_and_does_not_decide_is_left_alone() {
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    let heard: Arc<Mutex<Vec<EventKind>>> = Arc::default();
    let listener = heard.clone();
    let store = Redis::builder(&proxy.url()).timeout(DEADLINE).on_error(OnError::Allow);
    let store = store.listener(move |event| listener.lock().expect("a lock").push(event.kind));
    let (limiter, limit) = (Limiter::new(store.build().expect("a store")), hourly("flapping", 500_000));
    wait_until("the store decides", || limiter.limit_sync(&limit, "ada").is_ok_and(|info| !info.degraded));
    // Quick enough to connect and to greet, too slow to decide.
    proxy.round_trip(DEADLINE * 3 / 2);
    let started = Instant::now();
    let (mut calls, mut slow) = (0, 0);
    while started.elapsed() < Duration::from_secs(4) {
        let call = Instant::now();
        assert!(limiter.limit_sync(&limit, "ada").expect("the policy's answer").degraded);
        calls += 1;
        slow += u32::from(call.elapsed() > DEADLINE / 2);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(slow <= 4 && calls > 100, "{slow} of {calls} calls paid for it");
    let opened = |kind: &&EventKind| matches!(kind, EventKind::BreakerOpen(_));
    let heard_so_far = heard.lock().expect("a lock").clone();
    assert_eq!(heard_so_far.iter().filter(opened).count(), 1, "{heard_so_far:?}");
    assert!(heard_so_far.len() <= 2, "{heard_so_far:?}");
    proxy.round_trip(Duration::ZERO);
    let back = wait_until("the store decides", || limiter.limit_sync(&limit, "ada").is_ok_and(|info| !info.degraded));
    assert!(back < Duration::from_millis(1500), "{back:?}");
}

#[test]
fn what_was_only_read_by_its_deadline_is_not_charged() {
    let server = Server::start();
    let proxy = Proxy::to(server.port);
    let deadline = Duration::from_millis(100);
    let limit = hourly("slow", 100);
    let store = |url: &str| Redis::builder(url).strategy(Strategy::Transactions).deny_cache(Duration::ZERO);
    let hasty = store(&proxy.url()).timeout(deadline).on_error(OnError::Local);
    let patient = store(&server.url()).timeout(PATIENT).on_error(OnError::Raise);
    let [direct, slow] = [patient, hasty].map(|store| Limiter::new(store.build().expect("a store")));
    wait_until("the store decides", || !slow.peek_sync(&limit, "ada").expect("an answer").degraded);
    // What was read arrives too late for a charge.
    proxy.delay(Duration::from_millis(120));
    for _ in 0..2 {
        let started = Instant::now();
        assert!(slow.limit_sync(&limit, "ada").expect("an answer").degraded);
        assert!(started.elapsed() < deadline + SLACK, "{:?}", started.elapsed());
    }
    thread::sleep(Duration::from_millis(400));
    assert_eq!(direct.peek_sync(&limit, "ada").expect("an answer").remaining, 100);
}

/// The task that keeps the map looks at once, and not a tenth of a second later.
#[test]
fn the_first_call_of_a_limiter_does_not_wait_for_the_next_look_at_the_map() {
    let cluster = Cluster::start(0);
    let limit = hourly("fresh", 1000);
    for url in [cluster.url(), cluster.nodes[0].url()] {
        let slow = |_: &u32| {
            let (began, limiter) = (Instant::now(), raising(&url, PATIENT));
            limiter.limit_sync(&limit, "ada").expect("an answer");
            began.elapsed() >= Duration::from_millis(100)
        };
        // A busy machine makes some slow; every single one was, or one in five.
        let slow = (0..100).filter(slow).count();
        assert!(slow < 8, "{slow} of 100 at {url}");
    }
}
