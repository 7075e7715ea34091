//! The cost of a decision to the server besides time: round trips, and memory.

use std::time::Duration;

use redis::Pipeline;
use serde_json::Value;
use tidegate::{Call, Check, Limit, LimitError};

use crate::measure::Spread;
use crate::row::{Bound, alone};
use crate::server::Server;
use crate::{Result, actors, limiter};

const HOUR: Duration = Duration::from_hours(1);
const TICK: Duration = Duration::from_millis(1);

/// Checks that three counts agree: the server's reads from its connections, the script's calls, and our batches.
pub(crate) fn round_trips(server: &mut Server) -> Result<Vec<Value>> {
    const CALLS: usize = 500;
    let limiter = limiter(server)?;
    let limits = ["a", "b", "c"].map(|key| Limit::bucket(key, 1000).build());
    let limits: Vec<Limit> = limits.into_iter().collect::<std::result::Result<_, LimitError>>()?;
    limiter.limit_sync(&limits[0], "the first of all")?;
    let mut rows = Vec::new();
    for (count, plural) in [(1, ""), (3, "s")] {
        let before = limiter.stats().batches;
        server.reset_statistics()?;
        for actor in actors("trips", CALLS) {
            let checks: Vec<Check<'_>> = limits[..count].iter().map(|limit| Check::new(limit, &actor)).collect();
            limiter.decide_sync(&checks, Call::Limit)?;
        }
        let statistics = server.statistics()?;
        let batches = (limiter.stats().batches - before) as f64;
        let most = [statistics.reads()?, statistics.evalsha_calls()?, batches].into_iter().fold(0.0, f64::max);
        let figure = Spread::of(vec![most / CALLS as f64]);
        let name = format!("round trips a decision of {count} check{plural}");
        rows.push(alone(&name, "", figure, Bound::AtMost(1.0), ""));
    }
    Ok(rows)
}

/// The `MEMORY USAGE` of entries that came of one call each.
pub(crate) fn memory(server: &mut Server) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    for (name, limit, cost) in kinds() {
        let (least, mean, most) = usage(server, name, &limit?, cost)?;
        let figures = Spread { min: least, median: mean, max: most };
        let bound = if name.starts_with("bucket") { Bound::AtMost(135.0) } else { Bound::None };
        rows.push(alone(&format!("Redis memory a client, {name}"), "B", figures, bound, "a mean"));
    }
    rows.push(all_told(server)?);
    Ok(rows)
}

type Kind = (&'static str, std::result::Result<Limit, LimitError>, u64);

/// Every type, and how much is charged.
fn kinds() -> [Kind; 10] {
    [
        ("bucket", Limit::bucket("login", 100).build(), 1),
        ("bucket, a high level", Limit::bucket("login", 1_000_000_000_000).drip_rate(TICK).build(), 1_000_000_000),
        ("token-bucket", Limit::token_bucket("login", 100, HOUR).build(), 1),
        ("fixed-window", Limit::fixed_window("login", 100, HOUR).build(), 1),
        ("sliding-counter", Limit::sliding_counter("login", 100, HOUR).build(), 1),
        ("sliding-window", Limit::sliding_window("login", 100, HOUR, HOUR / 10).build(), 1),
        ("sliding-log", Limit::sliding_log("login", 100, HOUR).build(), 1),
        ("decay", Limit::decay("login", 100, 2.0, HOUR / 60).build(), 1),
        ("smooth", Limit::smooth("login", 0.1).build(), 1),
        ("smooth, warming up", Limit::smooth("login", 0.1).warmup(HOUR).build(), 1),
    ]
}

/// The least, the mean and the most.
fn usage(server: &mut Server, name: &str, limit: &Limit, cost: u64) -> Result<(f64, f64, f64)> {
    const CLIENTS: usize = 1000;
    server.ask::<()>(&["FLUSHALL"])?;
    let limiter = limiter(server)?;
    for actor in actors("memory", CLIENTS) {
        limiter.decide_sync(&[Check::new(limit, &actor).cost(cost)], Call::Limit)?;
    }
    let keys: Vec<String> = server.ask(&["KEYS", "*"])?;
    if keys.len() != CLIENTS {
        return Err(format!("{name}: {CLIENTS} clients have {} entries", keys.len()).into());
    }
    let mut questions = Pipeline::new();
    for key in &keys {
        questions.cmd("MEMORY").arg("USAGE").arg(key);
    }
    let bytes: Vec<f64> = server.ask_all(&questions)?;
    let mean = bytes.iter().sum::<f64>() / bytes.len() as f64;
    let Spread { min, max, .. } = Spread::of(bytes);
    Ok((min, mean, max))
}

/// The memory that the server has in use, its tables of keys and of their expiry included.
fn all_told(server: &mut Server) -> Result<Value> {
    const CLIENTS: usize = 50_000;
    server.ask::<()>(&["FLUSHALL"])?;
    let (limiter, limit) = (limiter(server)?, Limit::bucket("login", 100).drip_rate(HOUR).build()?);
    limiter.limit_sync(&limit, "the first of all")?;
    let runtime = crate::latency::runtime()?;
    runtime.block_on(limiter.limit(&limit, "the first of all"))?;
    let before = server.statistics()?.memory()?;
    runtime.block_on(async {
        for actors in actors("memory", CLIENTS).chunks(512) {
            let calls = actors.iter().map(|actor| limiter.limit(&limit, actor));
            futures_util::future::try_join_all(calls).await?;
        }
        Ok::<_, tidegate::Error>(())
    })?;
    let each = (server.statistics()?.memory()? - before) / CLIENTS as f64;
    server.ask::<()>(&["FLUSHALL"])?;
    let note = format!("used_memory, {CLIENTS} clients: with the tables of keys and expiry");
    Ok(alone("Redis memory a client, bucket, all told", "B", Spread::of(vec![each]), Bound::None, &note))
}
