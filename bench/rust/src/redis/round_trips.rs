//! Many callers over a way that is long: how many calls are answered without the store, and how many of those are
//! charged all the same.

use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::Value;
use tidegate::remote::{Failure, OnError};
use tidegate::{Limit, Limiter, Redis};

use crate::measure::Spread;
use crate::proxy::Proxy;
use crate::row::{Bound, alone};
use crate::server::Server;
use crate::{Result, latency};

const DEADLINE: Duration = Duration::from_millis(100);
const CALLERS: usize = 64;
const ROUNDS: usize = 3;
const LASTS: Duration = Duration::from_secs(2);
const SIZE: u64 = 500_000;

/// The outcome of a load.
#[derive(Default)]
struct Outcome {
    decided: u64,
    degraded: u64,
}

pub(crate) fn rows(server: &Server) -> Result<Vec<Value>> {
    let proxy = Proxy::to(server.url().rsplit_once(':').ok_or("a URL without a port")?.1.parse()?);
    let mut rows = Vec::new();
    for millis in [20, 40, 60, 80] {
        let shares: Result<Vec<_>> = (0..ROUNDS).map(|_| degraded(&proxy, Duration::from_millis(millis))).collect();
        let name = format!("calls without the store, {CALLERS} callers, {millis} ms of round trip");
        rows.push(alone(&name, "%", Spread::of(shares?), Bound::AtMost(1.0), "a deadline of 100 ms"));
    }
    for (name, there_and_back) in [("150 ms more there and back", true), ("300 ms more back", false)] {
        let shares: Result<Vec<_>> = (0..ROUNDS).map(|round| ghosts(server, &proxy, round, there_and_back)).collect();
        let name = format!("charged though late, {CALLERS} callers, {name}");
        rows.push(alone(&name, "%", Spread::of(shares?), Bound::AtMost(1.0), "of the calls that timed out"));
    }
    Ok(rows)
}

/// The share of calls that are answered without the store, once it has decided one.
fn degraded(proxy: &Proxy, round_trip: Duration) -> Result<f64> {
    proxy.round_trip(round_trip);
    latency::runtime()?.block_on(async {
        let (limiter, limit) = (limiter(proxy)?, limit("trips")?);
        first(&limiter, &limit).await?;
        let Outcome { decided, degraded } = load(&limiter, &limit, LASTS).await?;
        Ok(percent(degraded, decided + degraded))
    })
}

/// The share of timed-out calls that are charged, where the way becomes long for a while, again and again.
fn ghosts(server: &Server, proxy: &Proxy, round: usize, there_and_back: bool) -> Result<f64> {
    let limit = limit(&format!("ghosts {there_and_back} {round}"))?;
    let lengthen = |by: Duration| if there_and_back { proxy.round_trip(by / 2) } else { proxy.delay(by) };
    proxy.round_trip(Duration::ZERO);
    let (decided, timed_out) = latency::runtime()?.block_on(async {
        let limiter = limiter(proxy)?;
        first(&limiter, &limit).await?;
        let mut decided = 1;
        for _ in 0..3 {
            decided += load(&limiter, &limit, LASTS / 4).await?.decided;
            lengthen(Duration::from_millis(300));
            decided += load(&limiter, &limit, LASTS / 4).await?.decided;
            lengthen(Duration::ZERO);
            decided += load(&limiter, &limit, LASTS / 4).await?.decided;
        }
        Ok::<_, Box<dyn std::error::Error>>((decided, limiter.stats().failures[&Failure::Timeout]))
    })?;
    // What came too late is given back when its answer comes.
    thread::sleep(DEADLINE * 5);
    let direct =
        Limiter::new(Redis::builder(server.url()).timeout(Duration::from_secs(2)).on_error(OnError::Raise).build()?);
    let charged = SIZE - direct.peek_sync(&limit, "ada")?.remaining;
    if timed_out == 0 {
        return Err("no call timed out".into());
    }
    Ok(percent(charged.abs_diff(decided), timed_out))
}

fn limiter(proxy: &Proxy) -> Result<Limiter> {
    let store = Redis::builder(&proxy.url()).timeout(DEADLINE).on_error(OnError::Allow);
    Ok(Limiter::new(store.deny_cache(Duration::ZERO).build()?))
}

/// Nobody is denied, and nothing drains meanwhile.
fn limit(key: &str) -> Result<Limit> {
    Ok(Limit::bucket(key, SIZE).drip_rate(Duration::from_hours(1)).build()?)
}

/// Calls until the store has decided once.
async fn first(limiter: &Limiter, limit: &Limit) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(10);
    while limiter.limit(limit, "ada").await?.degraded {
        if Instant::now() > end {
            return Err("the server did not decide".into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

/// Callers that each ask again as soon as they have an answer of the store, for a while.
async fn load(limiter: &Limiter, limit: &Limit, lasts: Duration) -> Result<Outcome> {
    let until = Instant::now() + lasts;
    let caller = async || {
        let mut outcome = Outcome::default();
        while Instant::now() < until {
            if limiter.limit(limit, "ada").await?.degraded {
                outcome.degraded += 1;
                // Without the store an answer is there at once; nobody asks again at once.
                tokio::time::sleep(DEADLINE / 20).await;
            } else {
                outcome.decided += 1;
            }
        }
        Ok::<_, tidegate::Error>(outcome)
    };
    let mut all = Outcome::default();
    for outcome in join_all((0..CALLERS).map(|_| caller())).await {
        let Outcome { decided, degraded } = outcome?;
        all = Outcome { decided: all.decided + decided, degraded: all.degraded + degraded };
    }
    Ok(all)
}

fn percent(part: u64, of: u64) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}
