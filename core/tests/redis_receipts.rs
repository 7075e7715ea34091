//! Receipts, calls that are given up, and resets of several limits, over a store that others share.
#![cfg(feature = "redis")]
#![allow(missing_docs, reason = "a test")]

mod calls;
mod servers;

use std::sync::mpsc::channel;
use std::time::Duration;

use calls::{hourly, over, well};
use servers::proxy::Proxy;
use servers::{Server, wait_until};
use tidegate::{Call, Check, Error, Failure, Limit, LimitInfo, Limiter, OnError, Receipt};

const PATIENCE: Duration = Duration::from_secs(20);

fn failure(answer: Result<LimitInfo, Error>) -> Failure {
    match answer {
        Err(Error::Store(error)) => error.failure(),
        other => panic!("{other:?}"),
    }
}

fn charge(limiter: &Limiter, limit: &Limit, cost: u64) -> Receipt {
    let checks = [Check::new(limit, "ada").cost(cost)];
    let info = limiter.decide_sync(&checks, Call::Limit).expect("an answer");
    limiter.receipt(&checks, Call::Limit, &info)
}

/// The units left, once the store says so.
fn left(limiter: &Limiter, limit: &Limit) -> u64 {
    let mut left = None;
    wait_until("the store decides", || {
        left = limiter.peek_sync(limit, "ada").ok().filter(|info| !info.degraded).map(|info| info.remaining);
        left.is_some()
    });
    left.expect("an answer")
}

#[test]
fn what_may_have_happened_is_not_done_again() {
    let server = Server::start();
    let wire = Proxy::to(server.port);
    let (limiter, limit) = (well(&wire.url(), OnError::Raise), hourly("login", 10));
    let mine = charge(&limiter, &limit, 4);
    charge(&limiter, &limit, 4);
    // The server hears of it, and gives back; its answer is lost.
    wire.deafen(true);
    assert_eq!(failure(mine.refund_sync()), Failure::Timeout);
    wire.deafen(false);
    wire.cut();
    assert_eq!(left(&limiter, &limit), 6);
    assert!(!mine.is_open());
    assert_eq!(mine.refund_sync().expect("an answer").remaining, 6);
}

#[test]
fn what_did_not_happen_may_be_tried_again() {
    let server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Raise), hourly("login", 10));
    let mine = charge(&limiter, &limit, 4);
    server.run::<()>("CONFIG SET maxmemory 1");
    assert_eq!(failure(mine.settle_sync(&[1])), Failure::OutOfMemory);
    assert!(mine.is_open());
    server.run::<()>("CONFIG SET maxmemory 0");
    wait_until("the store decides", || mine.settle_sync(&[1]).is_ok());
    assert_eq!(left(&limiter, &limit), 9);
    assert!(!mine.is_open());
}

#[test]
fn what_the_store_charged_is_not_given_back_here_and_the_other_way_round() {
    let mut server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Local), hourly("login", 10));
    let [first, second] = [charge(&limiter, &limit, 4), charge(&limiter, &limit, 4)];
    server.kill();
    // The first call notices, and from then on this process decides alone.
    let here = [charge(&limiter, &limit, 3), charge(&limiter, &limit, 2)];
    let remaining = || limiter.peek_sync(&limit, "ada").expect("an answer").remaining;
    assert_eq!(remaining(), 5);
    assert!(first.refund_sync().expect("an answer").degraded);
    assert_eq!(remaining(), 5);
    assert!(second.settle_sync(&[5]).expect("an answer").degraded);
    assert_eq!(remaining(), 4);
    assert!(here[0].refund_sync().expect("an answer").degraded);
    assert_eq!(remaining(), 7);

    server.restart();
    charge(&limiter, &limit, 1);
    wait_until("the store decides", || limiter.peek_sync(&limit, "ada").is_ok_and(|info| !info.degraded));
    let before = left(&limiter, &limit);
    here[1].refund_sync().expect("an answer");
    assert_eq!(left(&limiter, &limit), before);
}

#[test]
fn several_limits_are_reset_in_one_round_trip() {
    let server = Server::start();
    let limiter = over(&server.url(), OnError::Raise);
    let log = Limit::sliding_log("log", 3, Duration::from_hours(1)).build().expect("a log");
    let limits = [hourly("one", 10), hourly("two", 20), log];
    let checks: Vec<_> = limits.iter().map(|limit| Check::new(limit, "ada")).collect();
    wait_until("the store decides", || limiter.decide_sync(&checks, Call::Limit).is_ok());
    let calls = || {
        let statistics = server.run::<String>("INFO commandstats");
        let line = statistics.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
        line.and_then(|line| line.split(',').next()).map_or(0, |calls| calls.parse::<u64>().expect("a number"))
    };
    let before = calls();
    let info = limiter.decide_sync(&checks, Call::Reset).expect("an answer");
    assert_eq!(calls(), before + 1);
    let remaining: Vec<_> = info.checks().iter().map(|info| info.remaining).collect();
    assert_eq!((remaining, info.full_reset_ms, info.blocked), (vec![10, 20, 3], 0, false));
    let peeked = limiter.decide_sync(&checks, Call::Peek).expect("an answer");
    assert_eq!(peeked.checks().iter().map(|info| info.full_reset_ms).max(), Some(0));
}

#[test]
fn an_acquire_that_was_answered_is_called_off_once() {
    let server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Raise), hourly("mail", 10));
    let check = Check::new(&limit, "ada").cost(4);
    let (told, heard) = channel();
    let spawn = || {
        let told = told.clone();
        limiter.start_acquire(&[check], PATIENCE).spawn(move |answer, _| drop(told.send(answer))).expect("a thread")
    };
    let [cancelled, taken] = [spawn(), spawn()];
    for _ in 0..2 {
        assert!(!heard.recv_timeout(PATIENCE).expect("in time").expect("an answer").blocked);
    }
    assert_eq!(left(&limiter, &limit), 2);
    assert!(taken.take());
    assert!(!taken.cancel());
    assert!(cancelled.cancel());
    assert!(!cancelled.cancel());
    assert!(!cancelled.take());
    wait_until("its charge is given back", || left(&limiter, &limit) == 6);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(left(&limiter, &limit), 6);
}

#[test]
fn an_acquire_that_this_process_answered_alone_is_given_back_here() {
    let mut server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Local), hourly("mail", 10));
    charge(&limiter, &limit, 1);
    server.kill();
    charge(&limiter, &limit, 3);
    let check = Check::new(&limit, "ada").cost(4);
    let (told, heard) = channel();
    let acquire = limiter.start_acquire(&[check], PATIENCE).spawn(move |answer, _| drop(told.send(answer)));
    let acquire = acquire.expect("a thread");
    assert!(heard.recv_timeout(PATIENCE).expect("in time").expect("an answer").degraded);
    let remaining = || limiter.peek_sync(&limit, "ada").expect("an answer").remaining;
    assert_eq!(remaining(), 3);
    assert!(acquire.cancel());
    assert_eq!(remaining(), 7);
    assert!(!acquire.cancel());
    assert_eq!(remaining(), 7);
}
