//! The vector files beside the golden one: each is held against the engine, and legacy limits against the oracle too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::oracle::{Asked, Oracle};
use serde_json::{Value, json};
use tidegate::headers::{self, Draft, Header, Policy};
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory, ffi};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors").join(name)
}

fn read(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path(name)).expect("a vector file")).expect("JSON")
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("{name} is a list"))
}

fn limit(wire: &Value) -> Limit {
    Limit::from_json(&wire.to_string()).expect("a sound definition")
}

fn micros(value: &Value) -> u64 {
    ffi::instant("", value.as_f64().expect("milliseconds")).expect("a time")
}

/// A step's call, for the engine and for the oracle.
fn calls(step: &Value) -> (Call, Asked) {
    match step["call"].as_str().expect("a call") {
        "limit" => (Call::Limit, Asked::Limit),
        "peek" => (Call::Peek, Asked::Peek),
        "charge" => (Call::Charge, Asked::Charge),
        "refund" => (Call::Refund, Asked::Refund),
        "acquire" => {
            let max_wait = ffi::max_wait("", step["maxWaitMs"].as_f64().expect("a wait")).expect("a wait");
            (Call::Acquire { max_wait }, Asked::Acquire(max_wait.as_micros().try_into().expect("a short wait")))
        }
        other => panic!("unknown call {other}"),
    }
}

fn answer(info: &LimitInfo) -> Value {
    json!({
        "blocked": info.blocked, "remaining": info.remaining, "waitMs": info.wait_ms,
        "resetMs": info.reset_ms, "resetSec": info.reset_sec(),
        "fullResetMs": info.full_reset_ms, "fullResetSec": info.full_reset_sec(),
    })
}

/// The oracle's answer to each step of a sequence.
fn foretold(sequence: &Value) -> Vec<Value> {
    let mut oracle = Oracle::default();
    let factor = sequence["factor"].as_f64().expect("a factor");
    let answer = |step: &Value| {
        let cost = step["cost"].as_u64().expect("a cost");
        let check = crate::oracle::Check { wire: &sequence["limit"], actor: "a", cost, factor };
        oracle.decide(&[check], calls(step).1, micros(&step["now"]).into()).expect("an answer").merged.to_json()
    };
    list(sequence, "steps").iter().map(answer).collect()
}

#[test]
fn legacy_limits_in_both_translations() {
    let vectors = read("legacy.json");
    for sequence in list(&vectors, "one") {
        let (limit, limiter) = (limit(&sequence["limit"]), Limiter::new(Memory::new()));
        let factor = sequence["factor"].as_f64().expect("a factor");
        for (step, foretold) in list(sequence, "steps").iter().zip(foretold(sequence)) {
            let check = Check::new(&limit, "a").cost(step["cost"].as_u64().expect("a cost")).factor(factor);
            let info = limiter.decide_sync_at(&[check], calls(step).0, micros(&step["now"])).expect("an answer");
            assert_eq!(answer(&info), step["want"], "{} {step}", sequence["limit"]);
            assert_eq!(foretold, step["want"], "the oracle: {} {step}", sequence["limit"]);
        }
    }
}

/// Run by hand, after a change of the definitions: `cargo test --test engine vector_files -- --ignored`.
#[test]
#[ignore = "writes legacy.json anew, from the oracle"]
fn write_legacy_json() {
    let definitions = [
        json!({ "max": 10, "duration": 10000 }),
        json!({ "max": 700, "duration": 1000 }),
        json!({ "max": 3, "duration": 10000 }),
        json!({ "max": 1, "duration": 500.5 }),
        json!({ "max": 2.5, "duration": 1000 }),
        json!({ "max": 300, "duration": 3_600_000, "minInterval": 1000 }),
        json!({ "max": 10, "duration": 5000, "minInterval": 1000 }),
        json!({ "max": 10, "duration": 5000, "minInterval": 0 }),
        json!({ "minInterval": 1000 }),
        json!({ "minInterval": 2.3 }),
        json!({ "minInterval": 0.4 }),
        json!({ "minInterval": 0 }),
        json!({ "max": 5, "duration": 0 }),
        json!({}),
    ];
    let mut sequences = Vec::new();
    for (index, definition) in definitions.iter().enumerate() {
        for translation in ["bucket", "exact"] {
            for (factor, scales) in [(1.0, "size"), (0.5, "size"), (2.0, "size-and-rate")] {
                let mut limit = definition.clone();
                limit["key"] = format!("legacy {index}").into();
                if translation != "bucket" {
                    limit["translation"] = translation.into();
                }
                if scales != "size" {
                    limit["factorScales"] = scales.into();
                }
                let mut sequence = json!({ "limit": limit, "factor": factor, "steps": steps() });
                for (step, want) in foretold(&sequence).into_iter().enumerate() {
                    sequence["steps"][step]["want"] = want;
                }
                sequences.push(sequence);
            }
        }
    }
    let lines: Vec<_> = sequences.iter().map(Value::to_string).collect();
    std::fs::write(path("legacy.json"), format!("{{ \"one\": [\n{}\n] }}\n", lines.join(",\n"))).expect("a file");
}

/// A burst, and then each call some milliseconds after the last.
fn steps() -> Vec<Value> {
    let mut now = 1_750_000_000_123.456;
    let mut steps = Vec::new();
    let mut step = |after: f64, call: &str, cost: u64| {
        now = ((now + after) * 1e3_f64).round() / 1e3;
        let mut step = json!({ "now": now, "call": call, "cost": cost });
        if call == "acquire" {
            step["maxWaitMs"] = 1200.into();
        }
        steps.push(step);
    };
    for _ in 0..4 {
        step(0.0, "limit", 1);
    }
    for (after, call, cost) in [
        (0.0, "peek", 1),
        (0.999, "limit", 1),
        (0.001, "limit", 1),
        (1.5, "limit", 1),
        (331.0, "limit", 1),
        (666.5, "limit", 1),
        (0.0, "charge", 8),
        (0.0, "peek", 0),
        (400.0, "acquire", 1),
        (0.0, "refund", 2),
        (1000.0, "limit", 1),
        (0.0, "charge", 700),
        (100.0, "limit", 1),
        (700.0, "limit", 1),
        (-2000.0, "limit", 1),
        (9000.0, "peek", 1),
        (3_600_000.0, "limit", 1),
        (0.0, "peek", 1),
    ] {
        step(after, call, cost);
    }
    steps
}

fn fields(headers: Vec<Header>) -> BTreeMap<String, String> {
    headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[test]
fn headers_of_every_kind_and_draft() {
    let vectors = read("headers.json");
    for case in list(&vectors, "cases") {
        let limits: Vec<_> = list(case, "limits").iter().map(limit).collect();
        let limiter = Limiter::new(Memory::new());
        let mut info = None;
        for step in list(case, "steps") {
            let costs = list(step, "costs").iter().map(|cost| cost.as_u64().expect("a cost"));
            let checks: Vec<_> =
                limits.iter().zip(costs).map(|(limit, cost)| Check::new(limit, "a").cost(cost)).collect();
            info = limiter.decide_sync_at(&checks, calls(step).0, micros(&step["now"])).ok();
        }
        let info = info.expect("an answer to the last step");
        assert_eq!(answer(&info), case["info"], "{}", case["says"]);
        let policies: Vec<_> =
            limits.iter().zip(info.checks()).map(|(limit, info)| Policy::new(limit.key(), info)).collect();
        let want = |kind: &str| -> BTreeMap<String, String> {
            serde_json::from_value(case["headers"][kind].clone())
                .unwrap_or_else(|_| panic!("{kind} of {}", case["says"]))
        };
        assert_eq!(fields(headers::x(&info)), want("x"), "{}", case["says"]);
        for (draft, number) in [("6", 6), ("7", 7), ("11", 11)] {
            let draft_form = Draft::from_number(number).expect("a known draft");
            assert_eq!(
                fields(headers::ietf(&policies, info.binding(), draft_form)),
                want(draft),
                "{} {draft}",
                case["says"]
            );
        }
    }
}
