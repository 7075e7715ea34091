//! Memory that processes share, beside the memory of one process.

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tidegate::remote::backend::Settings;
use tidegate::{AnyStore, Limiter, Memory};

use crate::measure::{Row, Spread, duel};
use crate::{HOT, keys, limit};

const FOR: Duration = Duration::from_secs(1);
const CHECK_CLOCK_EVERY: usize = 256;

fn open(url: &str) -> Limiter {
    match AnyStore::shm(url, Settings::default()) {
        Ok(store) => Limiter::new(store),
        Err(error) => unreachable!("a table: {error}"),
    }
}

fn url(name: &str, entries: usize) -> String {
    format!("shm://bench-{}-{name}?entries={entries}", std::process::id())
}

fn remove(limiter: &Limiter) {
    let _ = limiter.shared_file().map(std::fs::remove_file);
}

pub(crate) fn rows() -> Vec<Row> {
    let row = |name: &str, unit, ours, target| Row { name: name.to_owned(), unit, ours, peer: None, target };
    let together = |processes, keys| Spread::of((0..3).map(|_| decisions_of(processes, keys)).collect());
    let contended = Spread::of((0..3).map(|_| 2e9 / decisions_of(2, 1)).collect());
    vec![
        hot_key(),
        row("shared memory, 4 processes on 4096 keys, decisions a second together", "1/s", together(4, 4096), None),
        row("shared memory, 1 key of 2 processes, a call", "ns", contended, None),
    ]
}

fn hot_key() -> Row {
    const CALLS: usize = 200_000;
    let (shared, memory, limit) = (open(&url("hot", 10_000)), Limiter::new(Memory::new()), limit());
    let ask = |limiter: &Limiter| {
        for _ in 0..CALLS {
            let _ = black_box(&limiter.limit_sync(black_box(&limit), black_box(HOT)));
        }
        CALLS
    };
    let row = duel("shared memory, hot key, 1 thread", Some(1.6), 31, "memory", || ask(&shared), || ask(&memory));
    remove(&shared);
    row
}

/// The decisions a second of so many processes together.
fn decisions_of(processes: usize, keys: usize) -> f64 {
    let url = url("many", 100_000);
    let limiter = open(&url);
    let start = |_| {
        let program = std::env::current_exe().ok()?;
        let keys = keys.to_string();
        Command::new(program).args(["--shared", &url, &keys]).stdout(Stdio::piped()).spawn().ok()
    };
    let children: Vec<_> = (0..processes).filter_map(start).collect();
    let rate = |child: std::process::Child| {
        let output = child.wait_with_output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse::<f64>().ok()
    };
    let sum = children.into_iter().filter_map(rate).sum();
    remove(&limiter);
    sum
}

/// One of these processes: its decisions a second.
pub(crate) fn decisions(url: &str, count: usize) -> f64 {
    let (limiter, limit, keys) = (open(url), limit(), keys(count));
    let (began, mut calls, mut degraded) = (Instant::now(), 0, 0);
    let mut in_turn = keys.iter().cycle();
    while began.elapsed() < FOR {
        for key in in_turn.by_ref().take(CHECK_CLOCK_EVERY) {
            degraded += usize::from(limiter.limit_sync(&limit, key).is_ok_and(|info| info.degraded));
        }
        calls += CHECK_CLOCK_EVERY;
    }
    (calls - degraded) as f64 / began.elapsed().as_secs_f64()
}
