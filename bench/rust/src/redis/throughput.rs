//! Many calls at a time, beside as many commands sent without us.

use std::sync::Arc;
use std::time::Instant;

use tidegate::Limiter;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::latency::{commands, connect, runtime, send};
use crate::measure::Spread;
use crate::row::{Bound, alone, bounded};
use crate::server::Server;
use crate::{Result, actors, all_asked, limit, limiter};

/// Tasks at a time.
const TASKS: usize = 512;
/// Calls of each, about as many actors.
const EACH: usize = 40;
const ROUNDS: usize = 15;
/// Batches of fewer decisions are not what the server's time is asked for.
const LEAST_BATCH: f64 = 16.0;

pub(crate) fn rows(server: &mut Server) -> Result<Vec<serde_json::Value>> {
    let runtime = runtime()?;
    let (limiter, limit) = (limiter(server)?, Arc::new(limit()?));
    let actors = actors("many", TASKS * EACH);
    let commands = Arc::new(commands(server, &limiter, &limit, &actors)?);
    let actors = Arc::new(actors);
    let connection = runtime.block_on(connect(server.url()))?;

    let (mut ours, mut theirs, mut batches) = (Vec::new(), Vec::new(), Vec::new());
    let (mut in_batches, mut alone_each) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        server.reset_statistics()?;
        let (calls, trips) = asked(&limiter);
        let our_rate = rate(&runtime, |task| {
            let (limiter, limit, actors) = (limiter.clone(), limit.clone(), actors.clone());
            async move {
                for actor in &actors[task * EACH..][..EACH] {
                    limiter.limit(&limit, actor).await.expect("the server is well");
                }
            }
        })?;
        let (calls_after, trips_after) = asked(&limiter);
        let spent = server.statistics()?.evalsha_total_micros()?;
        server.reset_statistics()?;
        let their_rate = rate(&runtime, |task| {
            let (connection, commands) = (connection.clone(), commands.clone());
            async move {
                for words in &commands[task * EACH..][..EACH] {
                    send(&connection, words).await;
                }
            }
        })?;
        let single = server.statistics()?.evalsha_micros()?;
        // The first round warms the caches and is not counted.
        if round > 0 {
            ours.push(our_rate);
            theirs.push(their_rate);
            in_batches.push(spent / (calls_after - calls));
            alone_each.push(single);
            batches.push((calls_after - calls) / (trips_after - trips));
        }
    }

    all_asked(&limiter)?;
    let ratio = Spread::of(ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect());
    let row = serde_json::json!({
        "name": format!("limit, {TASKS} at a time"),
        "unit": "/s",
        "tidegate": Spread::of(ours).json(),
        "peer": { "name": "redis-rs async, bare EVALSHA each", "figures": Spread::of(theirs).json(), "ratio": ratio.json() },
        "target": null,
    });
    let mean = Spread::of(batches).median;
    let bound = if mean >= LEAST_BATCH { Bound::AtMost(3.5) } else { Bound::None };
    let note = format!("{mean:.1} decisions a batch");
    Ok(vec![
        bounded(row, Bound::AtLeast(200_000.0), ""),
        alone("server time a decision, in batches", "us", Spread::of(in_batches), bound, &note),
        alone(
            "server time a decision, each by itself",
            "us",
            Spread::of(alone_each),
            Bound::AtMost(6.0),
            "a busy server",
        ),
    ])
}

/// The decisions that a limiter has sent, and the number of their round trips.
fn asked(limiter: &Limiter) -> (f64, f64) {
    let stats = limiter.stats();
    (stats.store_calls as f64, stats.batches as f64)
}

/// Calls a second of all tasks together.
fn rate<F: Future<Output = ()> + Send + 'static>(runtime: &Runtime, task: impl Fn(usize) -> F) -> Result<f64> {
    let start = Instant::now();
    runtime.block_on(async {
        let mut tasks: JoinSet<()> = (0..TASKS).map(task).collect();
        while let Some(ended) = tasks.join_next().await {
            ended?;
        }
        Ok::<_, tokio::task::JoinError>(())
    })?;
    Ok((TASKS * EACH) as f64 / start.elapsed().as_secs_f64())
}
