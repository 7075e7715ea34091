//! The actors of a store that are closest to their limits.

use std::time::Duration;

use crate::calls::{hourly, raising_store};
use crate::servers::{Cluster, Server};
use tidegate::redis::{Layout, RedisBuilder};
use tidegate::remote::OnError;
use tidegate::{Call, Check, Limit, Limiter, Memory};

fn store(url: &str) -> RedisBuilder {
    raising_store(url, Duration::from_secs(10))
}

fn charge(limiter: &Limiter, limit: &Limit, actor: &str, units: u64) {
    limiter.decide_sync(&[Check::new(limit, actor).cost(units)], Call::Charge).expect("an answer");
}

/// Actors, the key of the limit that each is closest to, and the units that are left of it.
fn rows(limiter: &Limiter, limits: &[Limit]) -> Vec<(String, String, u64)> {
    let closest = tidegate::ffi::closest_sync(limiter, limits, 10_000).expect("an answer");
    let rows = closest.actors.iter();
    rows.map(|row| (row.actor.clone(), limits[row.limit].key().to_owned(), row.info.remaining)).collect()
}

#[test]
fn those_that_are_denied_come_first_then_those_with_the_smallest_share_left() {
    let server = Server::start();
    let limiter = Limiter::new(store(&server.url()).build().expect("a store"));
    let [api, slow] =
        [hourly("api", 10), Limit::sliding_log("slow", 2, Duration::from_hours(5)).build().expect("a limit")];
    let odd = "a:b{c}% \n~log";
    let long = "a".repeat(300);
    charge(&limiter, &api, "half", 5);
    charge(&limiter, &api, odd, 9);
    charge(&limiter, &api, "denied", 10);
    charge(&limiter, &slow, "denied for longer", 2);
    charge(&limiter, &slow, "both", 1);
    charge(&limiter, &api, "both", 8);
    charge(&limiter, &api, &long, 10);
    charge(&limiter, &api, "", 2);
    // Neither another limit's entries, nor another namespace's.
    charge(&limiter, &hourly("other", 5), "other", 5);
    charge(&limiter.namespace("tidegate2"), &api, "elsewhere", 10);
    let limits = [api, slow];
    let expected = [
        ("denied for longer", "slow", 0),
        ("denied", "api", 0),
        (odd, "api", 1),
        ("both", "api", 2),
        ("half", "api", 5),
        ("", "api", 8),
    ];
    let shown = rows(&limiter, &limits);
    let shown: Vec<_> = shown.iter().map(|(actor, limit, left)| (actor.as_str(), limit.as_str(), *left)).collect();
    assert_eq!(shown, expected);
    let closest = tidegate::ffi::closest_sync(&limiter, &limits, 10_000).expect("an answer");
    let keys = server.run::<u64>("DBSIZE");
    assert_eq!((closest.found, closest.hashed, closest.looked_at, closest.total), (6, 1, keys, keys));
    assert!(closest.actors[0].info.blocked && closest.actors[1].info.blocked && !closest.actors[2].info.blocked);
    assert_eq!(rows(&limiter, &limits).len(), 6, "nothing was charged");
    assert_eq!(rows(&limiter, &[]), []);
}

#[test]
fn no_more_keys_are_looked_at_than_the_budget() {
    let server = Server::start();
    let limiter = Limiter::new(store(&server.url()).build().expect("a store"));
    let api = [hourly("api", 10)];
    server.run::<()>("DEBUG POPULATE 5000 other 1");
    for actor in 0..1000 {
        limiter.limit_sync(&api[0], &format!("ip:{actor}")).expect("an answer");
    }
    let all = tidegate::ffi::closest_sync(&limiter, &api, u64::MAX).expect("an answer");
    assert_eq!((all.found, all.looked_at, all.total), (1000, 6000, 6000));
    let part = tidegate::ffi::closest_sync(&limiter, &api, 1200).expect("an answer");
    assert_eq!((part.looked_at, part.total), (1200, 6000));
    assert!(part.found < 500, "{}", part.found);
    let calls = server.run::<String>("INFO commandstats");
    let scans = calls.lines().find(|line| line.starts_with("cmdstat_scan:")).expect("it has scanned");
    assert!(scans.starts_with("cmdstat_scan:calls=15,"), "{scans}");
    let none = tidegate::ffi::closest_sync(&limiter, &api, 0).expect("an answer");
    assert_eq!((none.found, none.looked_at, none.total), (0, 0, 6000));
}

#[test]
fn every_primary_of_a_cluster_is_looked_at() {
    let cluster = Cluster::start(0);
    let limiter = Limiter::new(store(&cluster.url()).build().expect("a store"));
    let api = [hourly("api", 10)];
    for actor in 0..90 {
        charge(&limiter, &api[0], &format!("ip:{actor}"), if actor == 7 { 10 } else { 1 });
    }
    let closest = tidegate::ffi::closest_sync(&limiter, &api, 900).expect("an answer");
    assert_eq!((closest.found, closest.looked_at, closest.total), (90, 90, 90));
    assert_eq!(closest.actors[0].actor, "ip:7");
}

#[test]
fn the_other_layout_names_actors_too() {
    let server = Server::start();
    let limiter = Limiter::new(store(&server.url()).layout(Layout::Sharkey).build().expect("a store"));
    let api = [hourly("/api/notes", 10), hourly("notes", 10)];
    charge(&limiter, &api[0], "203.0.113.9", 4);
    charge(&limiter, &api[1], "a_b", 10);
    let expected = [("a_b".to_owned(), "notes".to_owned(), 0), ("203.0.113.9".to_owned(), "/api/notes".to_owned(), 6)];
    assert_eq!(rows(&limiter, &api), expected);
}

#[test]
fn a_store_without_names_says_so_and_a_store_that_fails_the_reason() {
    let api = [hourly("api", 10)];
    let error = tidegate::ffi::closest_sync(&Limiter::new(Memory::new()), &api, 10).expect_err("no names");
    assert!(error.to_string().contains("limiter.top()") && error.to_string().contains("memory://"), "{error}");
    for policy in [OnError::Raise, OnError::Local] {
        let nobody = store("redis://127.0.0.1:1").on_error(policy).build().expect("a store");
        let error = tidegate::ffi::closest_sync(&Limiter::new(nobody), &api, 10).expect_err("nobody there");
        assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    }
}
