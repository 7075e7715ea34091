//! A server that forgets, that is full, and that is still reading what it had kept.
#![cfg(feature = "redis")]
#![allow(missing_docs, reason = "a test")]

mod calls;
mod servers;

use std::time::Duration;

use calls::{ask, from_the_store, hourly, well};
use servers::{Server, wait_until};
use tidegate::{Call, Check, Error, Failure, OnError};

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
