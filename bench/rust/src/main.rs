//! The engine in this process beside governor's keyed limiter, in one run.
//!
//! Prints JSON.

mod measure;
mod memory;
#[cfg(target_os = "linux")]
mod shared;
mod types;

use std::hint::black_box;
use std::num::NonZeroU32;
use std::thread;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use measure::{Row, duel};
use serde_json::json;
use tidegate::{Limit, Limiter, Memory};

pub(crate) const HOT: &str = "actor:00000000123456";
const TEN: NonZeroU32 = NonZeroU32::new(10).expect("not 0");
const PEER: &str = "governor keyed";

fn main() {
    if let Some(contender) = std::env::args().skip_while(|arg| arg != "--memory").nth(1) {
        println!("{}", memory::resident_per_key(&contender));
        return;
    }
    #[cfg(target_os = "linux")]
    {
        let mut arguments = std::env::args().skip_while(|arg| arg != "--shared").skip(1);
        if let (Some(url), Some(Ok(count))) = (arguments.next(), arguments.next().map(|count| count.parse())) {
            println!("{}", shared::decisions(&url, count));
            return;
        }
    }
    let mut rows = vec![hot_key(), hot_small()];
    #[cfg(target_os = "linux")]
    rows.extend(shared::rows());
    for (keys, target) in [(100_000, None), (1_000_000, Some(0.5))] {
        rows.extend([1, 2].map(|threads| random_keys(keys, threads, target)));
    }
    rows.push(new_keys(100_000));
    rows.push(memory::row());
    rows.extend(types::rows());
    rows.extend(memory::rows_of_types());
    println!("{}", json!({ "suite": "rust", "rows": rows.iter().map(Row::json).collect::<Vec<_>>() }));
}

/// Large enough that nothing is denied: a denial is a shorter path for both.
fn limit() -> Limit {
    match Limit::bucket("bench", 1_000_000_000).build() {
        Ok(limit) => limit,
        Err(error) => unreachable!("a sound definition: {error}"),
    }
}

fn peer() -> DefaultKeyedRateLimiter<String> {
    RateLimiter::keyed(Quota::per_second(NonZeroU32::MAX))
}

fn hot_key() -> Row {
    on_a_hot_key("hot key, 1 thread", Some(0.7), &limit(), &peer())
}

/// Ten at once and then one a second of both, so that nearly every call is denied.
fn hot_small() -> Row {
    let limit = Limit::bucket("small", 10).build();
    let limit = limit.unwrap_or_else(|error| unreachable!("a sound definition: {error}"));
    let peer = RateLimiter::keyed(Quota::per_second(NonZeroU32::MIN).allow_burst(TEN));
    on_a_hot_key("hot key, mostly denied, 1 thread", None, &limit, &peer)
}

fn on_a_hot_key(name: &str, target: Option<f64>, limit: &Limit, peer: &DefaultKeyedRateLimiter<String>) -> Row {
    const CALLS: usize = 200_000;
    let (limiter, key) = (Limiter::new(Memory::new()), HOT.to_owned());
    duel(
        name,
        target,
        31,
        PEER,
        || {
            for _ in 0..CALLS {
                let _ = black_box(&limiter.limit_sync(black_box(limit), black_box(&key)));
            }
            CALLS
        },
        || {
            for _ in 0..CALLS {
                let _ = black_box(&peer.check_key(black_box(&key)));
            }
            CALLS
        },
    )
}

/// Each key once a round and in an order unlike the one in which they came, so that every check meets a cold entry.
fn random_keys(count: usize, threads: usize, target: Option<f64>) -> Row {
    // With room for all of them: governor's table grows.
    let (limiter, limit) = (Limiter::new(Memory::with_max_entries(2 * count)), limit());
    let peer = peer();
    let keys = keys(count);
    for key in &keys {
        let _ = limiter.limit_sync(&limit, key);
        let _ = peer.check_key(key);
    }
    let shuffled = shuffled(&keys);
    drop(keys);
    let plural = if threads == 1 { "" } else { "s" };
    duel(
        format!("{count} random keys, {threads} thread{plural}"),
        target,
        9,
        PEER,
        || {
            on_threads(&shuffled, threads, |key| {
                let _ = black_box(&limiter.limit_sync(&limit, key));
            })
        },
        || {
            on_threads(&shuffled, threads, |key| {
                let _ = black_box(&peer.check_key(key));
            })
        },
    )
}

/// Keys that come for the first time, so that the tables grow from nothing; and the end of the tables.
fn new_keys(count: usize) -> Row {
    let (limit, keys) = (limit(), shuffled(&keys(count)));
    let ours = || {
        let limiter = Limiter::new(Memory::new());
        on_threads(&keys, 1, |key| {
            let _ = black_box(&limiter.limit_sync(&limit, key));
        })
    };
    let theirs = || {
        let peer = peer();
        on_threads(&keys, 1, |key| {
            let _ = black_box(&peer.check_key(key));
        })
    };
    duel(format!("{count} new keys, 1 thread"), None, 9, PEER, ours, theirs)
}

/// Every key once, shared out among the threads; counts wall time per operation of one thread.
fn on_threads(keys: &[String], threads: usize, check: impl Fn(&String) + Sync) -> usize {
    let share = keys.len().div_ceil(threads);
    thread::scope(|scope| {
        for keys in keys.chunks(share) {
            scope.spawn(|| keys.iter().for_each(&check));
        }
    });
    share
}

pub(crate) fn keys(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("actor:{number:014}")).collect()
}

/// Fisher and Yates's shuffle, driven by a fixed seed; copies, so that the order in memory is the order of use.
fn shuffled(keys: &[String]) -> Vec<String> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for last in (1..order.len()).rev() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        order.swap(last, usize::try_from(random % (last as u64 + 1)).unwrap_or(0));
    }
    order.into_iter().map(|index| keys[index].clone()).collect()
}
