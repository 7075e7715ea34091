//! From the wire form to models.

use serde_json::Value;

use super::calendar::Calendar;
use super::decay::Decay;
use super::held::Held;
use super::level::Level;
use super::log::Log;
use super::smooth::Smooth;
use super::windows::{Counter, Slots};
use super::{Model, Time};

/// The rules of a definition, scaled for an actor: nothing, one thing, or (exactly translated legacy limits) two.
pub(crate) fn models(wire: &Value, factor: f64) -> Vec<Box<dyn Model>> {
    if factor == 0.0 {
        return Vec::new();
    }
    let number = |name: &str| wire[name].as_f64();
    let needed = |name: &str| number(name).unwrap_or_else(|| panic!("{name} is missing in {wire}"));
    let max = || scaled(needed("max"), factor);
    let flag = || wire["countBlocked"].as_bool().unwrap_or(false);
    let scales_rate = wire["factorScales"] == "size-and-rate";
    let Some(kind) = wire["type"].as_str() else { return legacy(wire, factor, scales_rate) };
    vec![match kind {
        "bucket" => {
            let (drip_rate, drip_size) = (number("dripRate").unwrap_or(1000.0), number("dripSize").unwrap_or(1.0));
            bucket(needed("size"), drip_rate, drip_size, scales_rate, factor)
        }
        "token-bucket" => {
            let count = needed("count");
            token_bucket(count, needed("period"), number("burst").unwrap_or(count), factor)
        }
        "fixed-window" => Box::new(Level {
            quota: max(),
            tick: micros(needed("period")),
            drain: max(),
            ticks: 1,
            aligned: wire["anchor"] != "first-request",
        }),
        "sliding-window" => Box::new(Slots {
            max: max(),
            period: micros(needed("period")),
            resolution: micros(needed("resolution")),
            counts_blocked: flag(),
        }),
        "sliding-counter" => counter(max(), micros(needed("period"))),
        "sliding-log" => Box::new(Log {
            max: max(),
            period: micros(needed("period")),
            min_interval: number("minInterval").filter(|interval| *interval > 0.0).map_or(0, micros),
            counts_blocked: flag(),
        }),
        "decay" => Box::new(Decay {
            max: max(),
            factor: needed("decayFactor"),
            resolution: micros(needed("resolution")),
            counts_blocked: flag(),
        }),
        "smooth" => Box::new(Smooth::new(
            needed("rate") / factor,
            number("maxBurst").unwrap_or(1000.0),
            number("warmup").filter(|warmup| *warmup > 0.0).map_or(0, micros) as f64,
            number("coldFactor").unwrap_or(3.0),
        )),
        "calendar-window" => Box::new(Calendar {
            max: max(),
            zone: wire["timeZone"].as_str().unwrap_or("UTC").to_owned(),
            unit: wire["unit"].as_str().expect("a unit").to_owned(),
            starts_on: wire["startsOn"].as_i64().unwrap_or(1).try_into().expect("a day"),
        }),
        "concurrency" => Box::new(Held { max: max(), lease: micros(needed("lease")) }),
        other => panic!("unknown type {other}"),
    }]
}

fn bucket(size: f64, drip_rate: f64, drip_size: f64, scales_rate: bool, factor: f64) -> Box<dyn Model> {
    let drip_rate = if scales_rate { (drip_rate * factor).ceil().max(1.0) } else { drip_rate.ceil() };
    let (quota, drain) = (scaled(size, factor), drip_size.ceil() as i128);
    Box::new(Level { quota, tick: micros(drip_rate), drain, ticks: 1, aligned: false })
}

fn token_bucket(count: f64, period: f64, burst: f64, factor: f64) -> Box<dyn Model> {
    let (count, burst, period) = (scaled(count, factor), scaled(burst, factor), micros(period));
    for tick in [1, 1000, 1_000_000] {
        if period % tick != 0 {
            continue;
        }
        let ticks = period / tick;
        let common = (1..=count.min(ticks)).rev().find(|by| count % by == 0 && ticks % by == 0).unwrap_or(1);
        if (ticks / common) * (count / common) <= 1 << 53 {
            return Box::new(Level {
                quota: burst,
                tick,
                drain: count / common,
                ticks: ticks / common,
                aligned: false,
            });
        }
    }
    panic!("no tick keeps this rate exactly")
}

fn counter(max: i128, period: Time) -> Box<dyn Model> {
    let exact = |tick: &i128| period % tick == 0 && 2 * max * (period / tick) <= 1 << 53;
    let tick = [1, 1000, 1_000_000].into_iter().find(exact).expect("a tick that keeps the weights exactly");
    Box::new(Counter { max, period, tick })
}

fn legacy(wire: &Value, factor: f64, scales_rate: bool) -> Vec<Box<dyn Model>> {
    let number = |name: &str| wire[name].as_f64();
    let exact = wire["translation"] == "exact";
    let bucket = |size, drip_rate, drip_size| bucket(size, drip_rate, drip_size, scales_rate, factor);
    match (number("max"), number("duration"), number("minInterval")) {
        (Some(_), Some(0.0), _) | (None, None, None | Some(0.0)) => Vec::new(),
        (Some(max), Some(duration), interval) if exact => {
            let mut models = vec![token_bucket(max, duration, max, factor)];
            models.extend(interval.filter(|interval| *interval > 0.0).map(|interval| bucket(1.0, interval, 1.0)));
            models
        }
        (Some(max), Some(duration), interval) => {
            let first = interval.unwrap_or_else(|| math_round(duration / max)).max(1.0);
            let drip_size = math_round(max / (duration / first)).max(1.0);
            let drip_rate = math_round(duration / (max / drip_size)).max(1.0);
            vec![bucket(max, drip_rate, drip_size)]
        }
        (None, None, Some(interval)) if exact => vec![bucket(1.0, interval, 1.0)],
        (None, None, Some(interval)) => vec![bucket(1.0, math_round(interval).max(1.0), 1.0)],
        _ => panic!("max and duration belong together in {wire}"),
    }
}

/// As JavaScript's `Math.round` describes itself: the nearest integer, halves towards +∞.
fn math_round(value: f64) -> f64 {
    let (below, above) = (value.floor(), value.ceil());
    if above - value <= value - below { above } else { below }
}

fn scaled(value: f64, factor: f64) -> i128 {
    ((value / factor).ceil() as i128).max(1)
}

fn micros(millis: f64) -> Time {
    ((millis * 1000.0).round() as i128).max(1)
}
