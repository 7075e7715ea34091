//! The golden answers that all three languages share, through the public API.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory, ffi};

fn vectors(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors").join(name);
    serde_json::from_str(&fs::read_to_string(path).expect("a vector file")).expect("JSON")
}

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("{name} is a list"))
}

fn call(step: &Value) -> Call {
    match step["call"].as_str().expect("a call") {
        "limit" => Call::Limit,
        "peek" => Call::Peek,
        "charge" => Call::Charge,
        "refund" => Call::Refund,
        "acquire" => Call::Acquire {
            max_wait: ffi::max_wait("", step["maxWaitMs"].as_f64().expect("a wait")).unwrap_or(Duration::ZERO),
        },
        other => panic!("unknown call {other}"),
    }
}

fn answer(info: &LimitInfo) -> Value {
    serde_json::json!({
        "blocked": info.blocked, "remaining": info.remaining, "waitMs": info.wait_ms,
        "resetMs": info.reset_ms, "resetSec": info.reset_sec(),
        "fullResetMs": info.full_reset_ms, "fullResetSec": info.full_reset_sec(),
    })
}

fn merged(info: &LimitInfo) -> Value {
    let mut answer = answer(info);
    answer["binding"] = info.binding().into();
    answer
}

fn limit(wire: &Value) -> Limit {
    Limit::from_json(&wire.to_string()).expect("a sound definition")
}

fn limits(sequence: &Value) -> Vec<Limit> {
    list(sequence, "limits").iter().map(limit).collect()
}

fn now(step: &Value) -> u64 {
    ffi::instant("", step["now"].as_f64().expect("a time")).expect("a time")
}

fn factor(value: &Value) -> f64 {
    value.as_f64().expect("a factor")
}

/// Plays the sequences of calls about one limit at a time; how many answers were held against what they ought to be.
fn play(name: &str, limit_of: impl Fn(&Value, &[Limit], &Value) -> (Limit, f64)) -> usize {
    let vectors = vectors("decisions.json");
    let mut checked = 0;
    for sequence in list(&vectors, name) {
        let limits = if sequence["limits"].is_array() { limits(sequence) } else { vec![limit(&sequence["limit"])] };
        let limiter = Limiter::new(Memory::new());
        for (index, step) in list(sequence, "steps").iter().enumerate() {
            let (limit, factor) = limit_of(sequence, &limits, step);
            if step["call"] == "reset" {
                limiter.reset_sync(&limit, "actor").expect("a reset");
                continue;
            }
            let check = Check::new(&limit, "actor").cost(step["cost"].as_u64().expect("a cost")).factor(factor);
            let info = limiter.decide_sync_at(&[check], call(step), now(step)).expect("an answer");
            assert_eq!(answer(&info), step["want"], "in step {index} {step} of {limit:?}");
            checked += 1;
        }
    }
    checked
}

#[test]
fn one_limit_at_a_time() {
    let checked = play("one", |sequence, limits, _| (limits[0].clone(), factor(&sequence["factor"])));
    assert!(checked > 800, "{checked}");
}

#[test]
fn definitions_and_factors_that_change() {
    let of = |_: &Value, limits: &[Limit], step: &Value| {
        let index = usize::try_from(step["limit"].as_u64().expect("an index")).expect("an index");
        (limits[index].clone(), factor(&step["factor"]))
    };
    let checked = play("changing", of);
    assert!(checked > 500, "{checked}");
}

#[test]
fn several_limits_together() {
    let vectors = vectors("decisions.json");
    for sequence in list(&vectors, "together") {
        let (limits, factors) = (limits(sequence), list(sequence, "factors"));
        let limiter = Limiter::new(Memory::new());
        for step in list(sequence, "steps") {
            let costs = list(step, "costs").iter().map(|cost| cost.as_u64().expect("a cost"));
            let check = |((limit, cost), of)| Check::new(limit, "actor").cost(cost).factor(factor(of));
            let checks: Vec<_> = limits.iter().zip(costs).zip(factors).map(check).collect();
            let info = limiter.decide_sync_at(&checks, call(step), now(step)).expect("an answer");
            assert_eq!(merged(&info), step["want"], "in step {step}");
            let each: Vec<_> = info.checks().iter().map(answer).collect();
            assert_eq!(Value::from(each), step["each"], "in step {step}");
        }
    }
}
