//! Definitions and histories, made up at random.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// Calls a macro with each type of limit: its name in Rust, and in the wire form.
macro_rules! of_each_kind {
    ($tests:ident) => {
        $tests! {
            bucket "bucket"
            token_bucket "token-bucket"
            fixed_window "fixed-window"
            legacy "legacy"
            sliding_window "sliding-window"
            sliding_counter "sliding-counter"
            sliding_log "sliding-log"
            decay "decay"
            smooth "smooth"
            calendar_window "calendar-window"
            concurrency "concurrency"
        }
    };
}
#[allow(unused_imports, reason = "shared with other tests")]
pub(crate) use of_each_kind;

macro_rules! names {
    ($($test:ident $name:literal)*) => {
        pub(crate) const KINDS: &[&str] = &[$($name),*];
    };
}

of_each_kind!(names);

/// Milliseconds, with microseconds behind the point: round ones, and any.
fn duration() -> impl Strategy<Value = f64> {
    let round = select(vec![1.0, 10.0, 100.0, 250.0, 1000.0, 2000.0, 60_000.0]);
    prop_oneof![round, (1_u32..5000).prop_map(f64::from), (1_u32..3_000_000).prop_map(|micros| f64::from(micros) / 1e3)]
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![1_u32..=3, 1_u32..=12, 1_u32..=100]
}

fn scales() -> impl Strategy<Value = &'static str> {
    select(vec!["size", "size-and-rate"])
}

fn bucket() -> impl Strategy<Value = Value> {
    (count(), duration(), 1_u32..=5, scales()).prop_map(|(size, drip_rate, drip_size, scales)| {
        json!({ "type": "bucket", "size": size, "dripRate": drip_rate.max(1.0), "dripSize": drip_size, "factorScales": scales })
    })
}

fn token_bucket() -> impl Strategy<Value = Value> {
    let burst = proptest::option::of(count());
    (count(), duration(), burst).prop_map(|(count, period, burst)| match burst {
        Some(burst) => json!({ "type": "token-bucket", "count": count, "period": period, "burst": burst }),
        None => json!({ "type": "token-bucket", "count": count, "period": period }),
    })
}

fn fixed_window() -> impl Strategy<Value = Value> {
    (count(), duration(), select(vec!["epoch", "first-request"])).prop_map(
        |(max, period, anchor)| json!({ "type": "fixed-window", "max": max, "period": period, "anchor": anchor }),
    )
}

fn legacy() -> impl Strategy<Value = Value> {
    let interval = prop_oneof![Just(0.0), 1.0..3000.0, (1_u32..3000).prop_map(f64::from)];
    let translation = select(vec!["bucket", "exact"]);
    (count(), duration(), interval, 0..3, scales(), translation).prop_map(
        |(max, duration, interval, which, scales, translation)| {
            let mut limit = json!({ "factorScales": scales, "translation": translation });
            if which != 1 {
                (limit["max"], limit["duration"]) = (max.into(), duration.into());
            }
            if which != 0 {
                limit["minInterval"] = interval.into();
            }
            limit
        },
    )
}

fn sliding_window() -> impl Strategy<Value = Value> {
    (count(), duration(), 1_u32..=10, 0.001..=1.0, any::<bool>()).prop_map(|(max, period, parts, odd, blocked)| {
        // Slots that divide the period, and slots that do not.
        let resolution = if parts == 10 { period * odd } else { period / f64::from(parts) };
        let resolution = ((resolution * 1e3).floor() / 1e3).max(0.001);
        json!({ "type": "sliding-window", "max": max, "period": period, "resolution": resolution, "countBlocked": blocked })
    })
}

fn sliding_counter() -> impl Strategy<Value = Value> {
    (count(), duration()).prop_map(|(max, period)| json!({ "type": "sliding-counter", "max": max, "period": period }))
}

fn sliding_log() -> impl Strategy<Value = Value> {
    let interval = prop_oneof![2 => Just(0.0), 1 => duration()];
    (count(), duration(), interval, any::<bool>()).prop_map(|(max, period, interval, blocked)| {
        json!({ "type": "sliding-log", "max": max, "period": period, "minInterval": interval, "countBlocked": blocked })
    })
}

fn decay() -> impl Strategy<Value = Value> {
    (count(), select(vec![1.05, 1.1, 1.5, 2.0, 3.0, 10.0]), duration(), any::<bool>()).prop_map(
        |(max, factor, resolution, blocked)| {
            json!({ "type": "decay", "max": max, "decayFactor": factor, "resolution": resolution, "countBlocked": blocked })
        },
    )
}

fn smooth() -> impl Strategy<Value = Value> {
    let rate = prop_oneof![select(vec![0.5, 1.0, 2.0, 5.0, 7.0, 10.0, 1000.0]), 0.1..100.0];
    let burst = prop_oneof![4 => duration(), 1 => Just(0.0)];
    let warmup = prop_oneof![duration(), Just(0.0)];
    (rate, burst, warmup, select(vec![1.0, 2.0, 3.0, 4.5])).prop_map(|(rate, burst, warmup, cold)| {
        json!({ "type": "smooth", "rate": rate, "maxBurst": burst, "warmup": warmup, "coldFactor": cold })
    })
}

fn calendar_window() -> impl Strategy<Value = Value> {
    let zone =
        select(vec!["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia", "Antarctica/Troll"]);
    let unit = prop_oneof![
        Just(("day", 0)),
        (1..=7).prop_map(|day| ("week", day)),
        (1..=31).prop_map(|day| ("month", day)),
        Just(("year", 0)),
    ];
    (count(), zone, unit).prop_map(|(max, zone, (unit, day))| {
        let mut limit = json!({ "type": "calendar-window", "max": max, "unit": unit });
        if zone != "UTC" {
            limit["timeZone"] = zone.into();
        }
        if day > 0 {
            limit["startsOn"] = day.into();
        }
        limit
    })
}

fn concurrency() -> impl Strategy<Value = Value> {
    (count(), duration()).prop_map(|(max, lease)| json!({ "type": "concurrency", "max": max, "lease": lease.max(1.0) }))
}

/// The fields of a block, which most definitions have none of.
fn blocking() -> impl Strategy<Value = Value> {
    let growth = prop_oneof![2 => Just(1.0), 1 => select(vec![1.5, 2.0, 3.0]), 1 => 1.0..4.0];
    let fields = (duration(), growth, proptest::option::of(1.0..20.0)).prop_map(|(length, growth, longest)| {
        let mut fields = json!({ "blockFor": length, "blockGrowth": growth });
        if let Some(times) = longest {
            let longest: f64 = length * times;
            fields["blockMax"] = longest.into();
        }
        fields
    });
    prop_oneof![2 => Just(json!({})), 1 => fields]
}

/// A definition with these fields, where its type may have them.
fn blocked(mut definition: Value, blocking: &Value) -> Value {
    if definition["type"].is_string() {
        for (name, value) in blocking.as_object().into_iter().flatten() {
            definition[name] = value.clone();
        }
    }
    definition
}

/// A definition of this type, in the wire form, under the key `k`. A third of them block after a denial.
pub(crate) fn definition_of(kind: &str) -> BoxedStrategy<Value> {
    (definition_without_block(kind), blocking())
        .prop_map(|(definition, blocking)| blocked(definition, &blocking))
        .boxed()
}

/// A definition whose denials leave nothing behind but what its type keeps.
pub(crate) fn definition_without_block(kind: &str) -> BoxedStrategy<Value> {
    let definition = match kind {
        "bucket" => bucket().boxed(),
        "token-bucket" => token_bucket().boxed(),
        "fixed-window" => fixed_window().boxed(),
        "legacy" => legacy().boxed(),
        "sliding-window" => sliding_window().boxed(),
        "sliding-counter" => sliding_counter().boxed(),
        "sliding-log" => sliding_log().boxed(),
        "decay" => decay().boxed(),
        "smooth" => smooth().boxed(),
        "calendar-window" => calendar_window().boxed(),
        "concurrency" => concurrency().boxed(),
        other => panic!("no type {other}"),
    };
    definition.prop_map(|definition| with_key(definition, "k")).boxed()
}

pub(crate) fn definition() -> impl Strategy<Value = Value> {
    select(KINDS.to_vec()).prop_flat_map(definition_of)
}

pub(crate) fn with_key(mut definition: Value, key: &str) -> Value {
    definition["key"] = key.into();
    definition
}

/// The longest time that a definition speaks of, in microseconds: how far apart calls have to be for something to happen.
pub(crate) fn scale(definition: &Value) -> f64 {
    let of = |name: &str| definition[name].as_f64().unwrap_or(0.0);
    let times =
        ["dripRate", "period", "duration", "minInterval", "resolution", "maxBurst", "warmup", "lease", "blockFor"];
    let unit = match definition["unit"].as_str() {
        Some("day") => 1.0,
        Some("week") => 7.0,
        Some("month") => 31.0,
        Some("year") => 366.0,
        _ => 0.0,
    };
    let pace = if of("rate") > 0.0 { 1000.0 / of("rate") } else { 0.0 };
    times.into_iter().map(of).fold(pace.max(1.0).max(unit * 86_400_000.0), f64::max) * 1000.0
}

pub(crate) fn cost() -> impl Strategy<Value = u64> {
    prop_oneof![5 => Just(1), 1 => Just(0), 2 => 0_u64..=5, 1 => 0_u64..=30]
}

/// 2001 to 2033, or the first seconds after the epoch.
pub(crate) fn start() -> impl Strategy<Value = u64> {
    prop_oneof![5 => 1_000_000_000_000_000_u64..2_000_000_000_000_000, 1 => 0_u64..10_000_000]
}

/// Time that passes between two calls, as a share of a definition's own times.
pub(crate) fn step() -> impl Strategy<Value = f64> {
    prop_oneof![3 => Just(0.0), 1 => Just(1.0), 1 => Just(0.5), 4 => 0.0..0.3, 3 => 0.0..1.5, 1 => 0.0..30.0]
}

/// As [`step`], and sometimes back in time.
pub(crate) fn jump() -> impl Strategy<Value = f64> {
    prop_oneof![12 => step(), 2 => -1.0..0.0, 1 => -5.0..0.0, 1 => -1000.0..0.0, 1 => Just(200.0)]
}
