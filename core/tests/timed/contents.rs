//! A server that forgets, that is full, that is still reading what it had kept, and that is told to forget.

use std::time::Duration;

use crate::calls::{ask, from_the_store, hourly, well};
use crate::servers::{Server, wait_until};
use tidegate::remote::{Failure, OnError};
use tidegate::{Call, Check, Error, Limit};

#[test]
fn a_flush_gives_one_allowance_more() {
    let server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Raise), hourly("flushed", 20));
    let mut admitted = 0;
    for flushes in 0..5 {
        for _ in 0..50 {
            admitted += u32::from(!ask(&limiter, &limit, "ada").expect("no error").blocked);
        }
        assert_eq!(admitted, 20 * (flushes + 1));
        server.run::<()>("FLUSHALL");
    }
}

#[test]
fn a_server_that_is_full_charges_nothing_rather_than_a_part() {
    let server = Server::start();
    let limiter = well(&server.url(), OnError::Raise);
    let limits = ["one", "two", "three"].map(|key| hourly(key, 100));
    let checks: Vec<_> = limits.iter().map(|limit| Check::new(limit, "ada")).collect();
    assert!(!limiter.decide_sync(&checks, Call::Limit).expect("room for all").blocked);
    // The last one would be new, and so needs more room than the others.
    server.run::<redis::Value>("DEL tidegate:{ada}:three");
    server.run::<()>("CONFIG SET maxmemory 1");
    for _ in 0..5 {
        let Err(Error::Store(error)) = limiter.decide_sync(&checks, Call::Limit) else { panic!("it is full") };
        assert_eq!(error.failure(), Failure::OutOfMemory);
    }
    server.run::<()>("CONFIG SET maxmemory 0");
    let left = limits.each_ref().map(|limit| limiter.peek_sync(limit, "ada").expect("an answer").remaining);
    assert_eq!(left, [99, 99, 100]);
}

#[test]
fn a_server_that_is_loading_is_asked_once_it_has_loaded() {
    // It waits a little before each key, and looks up from its file now and then.
    let mut server = Server::with(&["--key-load-delay", "50", "--loading-process-events-interval-bytes", "1024"]);
    let (limiter, limit) = (well(&server.url(), OnError::Local), hourly("loaded", 1000));
    server.run::<()>("DEBUG POPULATE 10000");
    server.run::<()>("SAVE");
    assert!(from_the_store(&limiter, &limit, "ada"));
    server.kill();
    server.restart();
    let loading = || server.run::<String>("INFO persistence").contains("loading:1");
    let mut met = 0;
    assert!(loading());
    while loading() {
        let info = ask(&limiter, &limit, "ada").expect("the policy's answer");
        assert!(info.degraded || !loading(), "nobody decides while it is loading");
        met += u32::from(info.degraded);
    }
    assert!(met > 10 && limiter.stats().failures[&Failure::Unavailable] > 0, "{:?}", limiter.stats().failures);
    let took = wait_until("the store decides", || from_the_store(&limiter, &limit, "ada"));
    assert!(took < Duration::from_millis(500), "{took:?}");
}

#[test]
fn a_receipt_that_a_full_server_refused_may_be_used_again() {
    let server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Raise), hourly("login", 10));
    let checks = [Check::new(&limit, "ada").cost(4)];
    let info = limiter.decide_sync(&checks, Call::Limit).expect("an answer");
    let mine = limiter.receipt(&checks, Call::Limit, &info);
    server.run::<()>("CONFIG SET maxmemory 1");
    let Err(Error::Store(error)) = mine.settle_sync(&[1]) else { panic!("it is full") };
    assert_eq!(error.failure(), Failure::OutOfMemory);
    assert!(mine.is_open());
    server.run::<()>("CONFIG SET maxmemory 0");
    wait_until("the store decides", || mine.settle_sync(&[1]).is_ok());
    assert_eq!(limiter.peek_sync(&limit, "ada").expect("an answer").remaining, 9);
    assert!(!mine.is_open());
}

#[test]
fn several_limits_are_reset_in_one_round_trip() {
    let server = Server::start();
    let limiter = well(&server.url(), OnError::Raise);
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
    assert_eq!(info.full_reset_ms, 0);
}

#[test]
fn a_receipt_that_is_used_up_stays_so_whatever_fails() {
    let mut server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Raise), hourly("login", 10));
    let checks = [Check::new(&limit, "ada").cost(4)];
    let info = limiter.decide_sync(&checks, Call::Limit).expect("an answer");
    let mine = limiter.receipt(&checks, Call::Limit, &info);
    assert_eq!(mine.refund_sync().expect("an answer").remaining, 10);
    server.kill();
    for _ in 0..5 {
        let Err(Error::Store(error)) = mine.refund_sync() else { panic!("there is no server") };
        assert!(!mine.is_open(), "{error}");
    }
}

#[test]
fn clearing_forgets_what_this_process_decided_alone() {
    let server = Server::start();
    let (limiter, limit) = (well(&server.url(), OnError::Local), hourly("cleared", 1));
    let ask_alone = || loop {
        let info = limiter.limit_sync(&limit, "ada").expect("an answer");
        if info.degraded {
            return info;
        }
    };
    server.pause();
    assert_eq!([(); 2].map(|()| ask_alone().blocked), [false, true]);
    server.resume();
    wait_until("the store decides", || from_the_store(&limiter, &limit, "eve"));
    limiter.clear_sync().expect("the server is back");
    server.pause();
    assert!(!ask_alone().blocked);
}
