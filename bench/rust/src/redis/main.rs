//! The store on Redis beside bare commands and the store in memory, in one run: `tidegate-bench-redis URL PID`, or
//! `… URL PID round-trips` for what a long way costs.
//!
//! The server is asked for its statistics, which are reset, and its process is stopped for a while, so it must be one
//! that nobody else uses: `make bench-redis` starts one. Prints JSON.

mod entries;
mod flood;
mod latency;
#[path = "../measure.rs"]
#[allow(dead_code, reason = "shared with the other suite")]
mod measure;
mod outage;
#[path = "../../../../core/tests/servers/proxy.rs"]
#[allow(dead_code, reason = "shared with the tests of the engine")]
mod proxy;
mod round_trips;
mod row;
mod server;
mod throughput;

use std::time::Duration;

use serde_json::json;
use server::Server;
use tidegate::remote::OnError;
use tidegate::{Limit, Limiter, Redis};

/// A suite that cannot go on says why, in place of figures.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(pid)) = (arguments.next(), arguments.next()) else {
        return Err("usage: tidegate-bench-redis URL PID [round-trips]".into());
    };
    let mut server = Server::new(&url, pid.parse()?)?;
    if arguments.next().is_some_and(|only| only == "round-trips") {
        println!("{}", json!({ "suite": "rust, redis", "rows": round_trips::rows(&server)? }));
        return Ok(());
    }
    let mut rows = latency::rows(&server)?;
    rows.extend(throughput::rows(&mut server)?);
    rows.extend(server_time_alone(&mut server)?);
    rows.extend(entries::round_trips(&mut server)?);
    rows.extend(entries::memory(&mut server)?);
    rows.extend(flood::rows(&server)?);
    rows.extend(outage::rows(&server)?);
    println!("{}", json!({ "suite": "rust, redis", "rows": rows }));
    Ok(())
}

/// One decision in a call of the script, on a server that sleeps in between and wakes with cold caches, which is also
/// what a script that does nothing costs there.
fn server_time_alone(server: &mut Server) -> Result<Vec<serde_json::Value>> {
    let (limiter, limit) = (limiter(server)?, limit()?);
    let (mut figures, mut nothing) = (Vec::new(), Vec::new());
    for round in 0..=9 {
        server.reset_statistics()?;
        for actor in actors("alone", 2000) {
            limiter.limit_sync(&limit, &actor)?;
        }
        let ours = server.statistics()?.evalsha_micros()?;
        server.reset_statistics()?;
        for actor in actors("alone", 2000) {
            server.ask::<()>(&["EVAL", "return", "1", &actor])?;
        }
        // The first round warms the caches and is not counted.
        if round > 0 {
            figures.push(ours);
            nothing.push(server.statistics()?.eval_micros()?);
        }
    }
    all_asked(&limiter)?;
    let note = format!("an idle server, where an empty script takes {:.1}", measure::Spread::of(nothing).median);
    let figures = measure::Spread::of(figures);
    Ok(vec![row::alone("server time a decision, one at a time", "us", figures, row::Bound::None, &note)])
}

/// A limiter that waits rather than answer without the store: such answers are faster, and not what is measured.
pub(crate) fn limiter(server: &Server) -> Result<Limiter> {
    let store = Redis::builder(server.url()).timeout(Duration::from_secs(2)).on_error(OnError::Raise);
    Ok(Limiter::new(store.build()?))
}

/// Checks that the store decided each call: an answer without it is not what is measured.
pub(crate) fn all_asked(limiter: &Limiter) -> Result<()> {
    let stats = limiter.stats();
    if stats.store_calls == stats.decisions {
        return Ok(());
    }
    Err(format!("{} decisions were made without the store", stats.decisions - stats.store_calls).into())
}

/// Nobody is denied: a denial is remembered and not asked for again.
pub(crate) fn limit() -> Result<Limit> {
    Ok(Limit::bucket("bench", 1000).build()?)
}

/// So many actors of 20 characters.
pub(crate) fn actors(group: &str, count: usize) -> Vec<String> {
    let digits = 19 - group.len();
    (0..count).map(|number| format!("{group}:{number:0digits$}")).collect()
}
