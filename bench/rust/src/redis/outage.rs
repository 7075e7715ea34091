//! A server that neither answers nor hangs up.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tidegate::remote::BreakerState;
use tidegate::{Limit, Limiter, Memory, Redis};

use crate::measure::{Spread, duel};
use crate::row::{Bound, alone};
use crate::server::Server;
use crate::{Result, actors};

const DEADLINE: Duration = Duration::from_millis(100);
const THREADS: usize = 10;
const EACH: usize = 3;
const ROUNDS: usize = 7;

pub(crate) fn rows(server: &Server) -> Result<Vec<Value>> {
    let limiter = Limiter::new(Redis::builder(server.url()).timeout(DEADLINE).build()?);
    // Large enough that nothing is denied.
    let limit = Limit::bucket("outage", 1_000_000_000).build()?;
    let mut slow = Vec::new();
    let mut open = None;
    for round in 0..ROUNDS {
        until_well(&limiter, &limit)?;
        let stopped = server.stop()?;
        slow.push(percentile_99(calls(&limiter, &limit)?));
        if round == ROUNDS - 1 {
            open = Some(breaker_open(&limiter, &limit)?);
        }
        drop(stopped);
    }
    until_well(&limiter, &limit)?;
    let name = format!("p99 of {} calls after SIGSTOP, {THREADS} threads", THREADS * EACH);
    let mut rows = vec![alone(&name, "ms", Spread::of(slow), Bound::AtMost(120.0), "a deadline of 100 ms")];
    rows.extend(open);
    Ok(rows)
}

/// The time that each of some calls takes from several threads, in milliseconds.
fn calls(limiter: &Limiter, limit: &Limit) -> Result<Vec<f64>> {
    let times = thread::scope(|scope| {
        let threads: Vec<_> = actors("outage", THREADS)
            .into_iter()
            .map(|actor| {
                scope.spawn(move || {
                    let one = |_| {
                        let start = Instant::now();
                        let info = limiter.limit_sync(limit, &actor).expect("it is decided in this process");
                        assert!(info.degraded, "a server that is stopped has answered");
                        start.elapsed().as_secs_f64() * 1000.0
                    };
                    (0..EACH).map(one).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect::<thread::Result<Vec<_>>>()
    });
    Ok(times.map_err(|_| "a call went wrong")?.concat())
}

/// The least time that 99 of 100 calls do not exceed.
fn percentile_99(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let rank = (times.len() * 99).div_ceil(100);
    times[rank - 1]
}

/// Calls while the server counts as failed, beside calls that never have a server.
fn breaker_open(limiter: &Limiter, limit: &Limit) -> Result<Value> {
    const CALLS: usize = 20_000;
    let memory = Limiter::new(Memory::new());
    let actor = &actors("breaker", 1)[0];
    if limiter.stats().breaker != BreakerState::Open {
        return Err("the breaker did not open".into());
    }
    let name = "limit_sync, breaker open";
    let calls = |limiter: &Limiter, degraded| {
        for _ in 0..CALLS {
            let info = limiter.limit_sync(black_box(limit), black_box(actor)).expect("it is decided in this process");
            assert_eq!(black_box(&info).degraded, degraded);
        }
        CALLS
    };
    let row = duel(name, None, 21, "the store in memory", || calls(limiter, true), || calls(&memory, false));
    Ok(row.json())
}

/// Waits until the server decides again.
fn until_well(limiter: &Limiter, limit: &Limit) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        if !limiter.limit_sync(limit, "anybody")?.degraded {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err("the server did not come back".into())
}
