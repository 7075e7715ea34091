//! The limit types beside the bucket: time per decision and memory per key.

use std::hint::black_box;
use std::time::Duration;

use tidegate::{Call, Check, Limit, LimitError, Limiter, Memory};

use crate::HOT;
use crate::measure::{Row, duel};

/// With the rounds that are measured, fewer than the million that the types below admit.
const CALLS: usize = 50_000;
const SECOND: Duration = Duration::from_secs(1);
/// Large enough that nothing is denied while it is measured.
const PLENTY: u64 = 1_000_000_000;

/// So few that no entry drains while a million of them are counted.
const FEW: u64 = 100;

type Made = Result<Limit, LimitError>;

/// Every type that keeps two numbers, and those that keep more.
fn types(plenty: u64) -> [(&'static str, Option<f64>, Made); 8] {
    let hour = 3_600 * SECOND;
    [
        ("token-bucket", Some(1.5), Limit::token_bucket("token-bucket", plenty, hour).build()),
        ("fixed-window", Some(1.5), Limit::fixed_window("fixed-window", plenty, hour).build()),
        ("sliding-counter", Some(1.5), Limit::sliding_counter("sliding-counter", plenty, hour).build()),
        ("decay", Some(1.5), Limit::decay("decay", plenty, 2.0, 60 * SECOND).build()),
        ("smooth", Some(1.5), Limit::smooth("smooth", plenty as f64 / 3600.0).max_burst(hour).build()),
        ("smooth, warming up", Some(1.5), Limit::smooth("warm", plenty as f64 / 3600.0).warmup(hour).build()),
        ("sliding-window, 10 slots", None, Limit::sliding_window("window", plenty, hour, hour / 10).build()),
        ("sliding-log, max 100", None, Limit::sliding_log("log", 100, hour).build()),
    ]
}

/// One decision of each type beside one of a bucket.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = types(1_000_000)
        .into_iter()
        .map(|(name, target, limit)| beside_the_bucket(&format!("{name}, hot key"), target, &made(limit)))
        .collect();
    for max in [10, 100, 1_000, 10_000] {
        // A full log, in which every call has to find where the past ends.
        let limit = made(Limit::sliding_log("log", max, Duration::from_micros(max)).build());
        rows.push(beside_the_bucket(&format!("sliding-log, full, max {max}"), None, &limit));
    }
    rows.push(three_checks());
    rows.push(counted());
    rows
}

fn made(limit: Made) -> Limit {
    limit.unwrap_or_else(|error| unreachable!("a sound definition: {error}"))
}

fn bucket() -> Limit {
    made(Limit::bucket("bucket", PLENTY).build())
}

fn beside_the_bucket(name: &str, target: Option<f64>, limit: &Limit) -> Row {
    let (limiter, bucket) = (Limiter::new(Memory::new()), bucket());
    let ask = |limit: &Limit| {
        for _ in 0..CALLS {
            let _ = black_box(&limiter.limit_sync(black_box(limit), black_box(HOT)));
        }
        CALLS
    };
    duel(name, target, 15, "bucket", || ask(limit), || ask(&bucket))
}

fn three_checks() -> Row {
    let limiter = Limiter::new(Memory::new());
    let limits = ["a", "b", "c"].map(|key| made(Limit::bucket(key, PLENTY).build()));
    let checks = limits.each_ref().map(|limit| Check::new(limit, HOT));
    let ask = |checks: &[Check<'_>]| {
        for _ in 0..CALLS {
            let _ = black_box(&limiter.decide_sync(black_box(checks), Call::Limit));
        }
        CALLS
    };
    duel("three checks in one decision", Some(2.5), 15, "one check", || ask(&checks), || ask(&checks[..1]))
}

/// A limiter whose metrics are read, beside one that counts nothing.
fn counted() -> Row {
    let (counted, plain) = (Limiter::new(Memory::new()), Limiter::new(Memory::new()));
    let _ = counted.metrics();
    let bucket = bucket();
    let (ours, theirs) = (|| calls(&counted, &bucket), || calls(&plain, &bucket));
    duel("metrics are read, hot key", None, 31, "metrics are not read", ours, theirs)
}

/// Compiled once for both: where a loop lies in memory is felt as much as the counts.
#[inline(never)]
fn calls(limiter: &Limiter, bucket: &Limit) -> usize {
    for _ in 0..CALLS {
        let _ = black_box(&limiter.limit_sync(black_box(bucket), black_box(HOT)));
    }
    CALLS
}

/// The names of the types.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    types(FEW).into_iter().map(|(name, ..)| name)
}

/// The type of this name, for a process that measures it.
pub(crate) fn by_name(wanted: &str) -> Option<Limit> {
    types(FEW).into_iter().find(|(name, ..)| *name == wanted).map(|(_, _, limit)| made(limit))
}
