//! Entries in the layout of Sharkey's rate limiter, while others write to them.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::thread;
use std::time::Duration;

use crate::calls::{hourly, raising_store};
use crate::servers::proxy::Proxy;
use crate::servers::{Server, wait_until};
use tidegate::redis::{Layout, RedisBuilder, Strategy};
use tidegate::{Call, Check, Limiter};

const HOUR_MS: u64 = 3_600_000;

fn store(url: &str) -> RedisBuilder {
    raising_store(url, Duration::from_secs(10))
}

fn by_transactions(url: &str) -> Limiter {
    Limiter::new(store(url).strategy(Strategy::Transactions).build().expect("a store"))
}

fn by_both(url: &str) -> [Limiter; 2] {
    [by_transactions(url), Limiter::new(store(url).layout(Layout::Sharkey).build().expect("a store"))]
}

/// Two processes have dripped the one unit that was there, and one of them is about to take its drip back. Answers the
/// tick until then.
fn drip_twice(server: &Server) -> u64 {
    let (seconds, _) = server.run::<(u64, u64)>("TIME");
    let tick = seconds * 1000 + HOUR_MS / 2;
    server.run::<()>(&format!("SET rl_ada_twice_t {tick} EX 7200"));
    server.run::<()>("SET rl_ada_twice_c -1 EX 7200");
    tick
}

#[test]
fn a_tick_that_somebody_is_about_to_take_back_stays_as_it_is() {
    let (server, limit) = (Server::start(), hourly("twice", 5));
    for limiter in by_both(&server.url()) {
        let tick = drip_twice(&server);
        let info = limiter.limit_sync(&limit, "ada").unwrap();
        assert_eq!((info.blocked, info.remaining), (false, 4));
        assert_eq!(server.run::<u64>("GET rl_ada_twice_t"), tick, "it is theirs to set");
        assert_eq!(server.run::<i64>("GET rl_ada_twice_c"), 0);
        server.run::<()>(&format!("DECRBY rl_ada_twice_t {HOUR_MS}"));
        server.run::<()>("INCRBY rl_ada_twice_c 1");
        let info = limiter.peek_sync(&limit, "ada").unwrap();
        assert_eq!(info.remaining, 4);
        assert!(info.full_reset_ms <= HOUR_MS / 2, "the tick goes on: {info:?}");
    }
}

#[test]
fn the_script_knows_when_a_tick_that_is_taken_back_will_drip() {
    let (server, limit) = (Server::start(), hourly("twice", 5));
    let [_, limiter] = by_both(&server.url());
    drip_twice(&server);
    let info = limiter.limit_sync(&limit, "ada").unwrap();
    assert!(info.full_reset_ms <= HOUR_MS / 2, "what was empty is not begun anew: {info:?}");
}

/// The server's clock says when keys end, and it is not the clock of who gives the instant.
#[test]
fn what_is_charged_at_an_instant_of_the_callers_lives_for_an_hour() {
    let server = Server::start();
    let limit = tidegate::Limit::bucket("given", 2).drip_rate(Duration::from_secs(1)).build().unwrap();
    for limiter in by_both(&server.url()) {
        limiter.decide_sync_at(&[Check::new(&limit, "ada")], Call::Limit, 1_784_000_000_000_000).unwrap();
        for key in ["rl_ada_given_c", "rl_ada_given_t"] {
            let left = server.run::<u64>(&format!("TTL {key}"));
            assert!((3500..=3600).contains(&left), "{key} ends in {left} s");
        }
        limiter.reset_sync(&limit, "ada").unwrap();
        limiter.limit_sync(&limit, "ada").unwrap();
        let left = server.run::<u64>("TTL rl_ada_given_c");
        assert!(left <= 2, "by the server's own clock as long as a full bucket takes: {left} s");
        limiter.reset_sync(&limit, "ada").unwrap();
    }
}

#[test]
fn instants_are_whole_milliseconds() {
    let (server, limit) = (Server::start(), hourly("whole", 2));
    for limiter in by_both(&server.url()) {
        let info = limiter.decide_sync_at(&[Check::new(&limit, "ada")], Call::Limit, 1_784_000_000_000_999).unwrap();
        assert_eq!(info.at, 1_784_000_000_000_000);
        assert_eq!(server.run::<u64>("GET rl_ada_whole_t"), 1_784_000_000_000);
        limiter.reset_sync(&limit, "ada").unwrap();
    }
}

#[test]
fn whoever_loses_a_race_is_charged_and_says_how_full_it_is() {
    let (server, limit) = (Server::start(), hourly("race", 1));
    let (proxy, direct) = (Proxy::to(server.port), by_transactions(&server.url()));
    let slow = by_transactions(&proxy.url());
    direct.peek_sync(&limit, "warm").unwrap();
    slow.peek_sync(&limit, "warm").unwrap();
    let transactions = || {
        let stats = server.run::<String>("INFO commandstats");
        let line = stats.lines().find(|line| line.starts_with("cmdstat_multi:")).unwrap().to_owned();
        line["cmdstat_multi:calls=".len()..].split(',').next().unwrap().parse::<u64>().unwrap()
    };
    let before = transactions();
    proxy.delay(Duration::from_millis(500));
    let lost = thread::scope(|scope| {
        let late = scope.spawn(|| slow.limit_sync(&limit, "ada").unwrap());
        // It has read that the bucket is empty, and knows nothing of it yet.
        wait_until("it has read", || transactions() > before);
        assert!(!direct.limit_sync(&limit, "ada").unwrap().blocked);
        late.join().unwrap()
    });
    assert!(!lost.blocked, "what is charged is admitted");
    assert!(lost.full_reset_ms > HOUR_MS, "two are inside: {lost:?}");
    assert_eq!(server.run::<u64>("GET rl_ada_race_c"), 2);
    assert!(direct.limit_sync(&limit, "ada").unwrap().blocked);
}
