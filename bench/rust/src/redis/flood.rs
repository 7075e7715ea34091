//! A client that is denied and goes on calling.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::Value;
use tidegate::{Limit, Limiter, Memory};

use crate::measure::{Spread, duel};
use crate::row::{Bound, alone};
use crate::server::Server;
use crate::{Result, actors, limiter};

const IN_A_ROW: usize = 100_000;

pub(crate) fn rows(server: &Server) -> Result<Vec<Value>> {
    let mut rows = vec![beside_memory(server)?];
    rows.extend(store_calls(server)?);
    Ok(rows)
}

fn beside_memory(server: &Server) -> Result<Value> {
    let limit = Limit::bucket("flood", 1).drip_rate(Duration::from_hours(1)).build()?;
    let (ours, memory) = (limiter(server)?, Limiter::new(Memory::new()));
    let actor = &actors("flood", 1)[0];
    for limiter in [&ours, &memory] {
        limiter.charge_sync(&limit, actor)?;
    }
    let flood = |limiter: &Limiter| {
        for _ in 0..IN_A_ROW {
            let info = limiter.limit_sync(black_box(&limit), black_box(actor)).expect("the server is well");
            assert!(black_box(&info).blocked, "there was room");
        }
        IN_A_ROW
    };
    let name = "limit_sync, denied again";
    Ok(duel(name, Some(2.0), 31, "the store in memory", || flood(&ours), || flood(&memory)).json())
}

/// For as long as a client stays denied, and for as long as it goes on.
fn store_calls(server: &Server) -> Result<[Value; 3]> {
    let limiter = limiter(server)?;
    let mut denied = Vec::new();
    let limit = Limit::bucket("in a row", 1).build()?;
    for actor in actors("row", 9) {
        limiter.charge_sync(&limit, &actor)?;
        let flood = flood(&limiter, &limit, &actor, |calls, _| calls < IN_A_ROW)?;
        denied.push((flood.asked / flood.drips(Duration::from_secs(1))).max(0.0));
    }

    let drip = Duration::from_millis(50);
    let limit = Limit::bucket("on and on", 1).drip_rate(drip).build()?;
    let (mut all, mut again) = (Vec::new(), Vec::new());
    for actor in actors("on", 3) {
        limiter.charge_sync(&limit, &actor)?;
        let flood = flood(&limiter, &limit, &actor, |_, passed| passed < 20 * drip)?;
        all.push(flood.asked / flood.drips(drip));
        again.push((flood.asked - flood.admitted) / flood.drips(drip));
    }
    let (one, on) = ("store calls a drip, 100,000 denied in a row", "store calls a drip, flooding for 20 drips");
    Ok([
        alone(one, "", Spread::of(denied), Bound::AtMost(1.0), ""),
        alone(&format!("{on}: denied"), "", Spread::of(again), Bound::AtMost(1.0), ""),
        alone(&format!("{on}: all"), "", Spread::of(all), Bound::None, "with the one that each drip admits"),
    ])
}

/// The result of a flood.
struct Flood {
    asked: f64,
    admitted: f64,
    took: Duration,
}

impl Flood {
    /// The drips that it saw, the one that it began in included.
    fn drips(&self, drip: Duration) -> f64 {
        (self.took.as_secs_f64() / drip.as_secs_f64()).floor() + 1.0
    }
}

fn flood(limiter: &Limiter, limit: &Limit, actor: &str, goes_on: impl Fn(usize, Duration) -> bool) -> Result<Flood> {
    let (before, start) = (limiter.stats(), Instant::now());
    let mut calls = 0;
    while goes_on(calls, start.elapsed()) {
        limiter.limit_sync(limit, actor)?;
        calls += 1;
    }
    let (after, took) = (limiter.stats(), start.elapsed());
    let since = |after: u64, before: u64| (after - before) as f64;
    Ok(Flood {
        asked: since(after.store_calls, before.store_calls),
        admitted: since(after.admitted, before.admitted),
        took,
    })
}
