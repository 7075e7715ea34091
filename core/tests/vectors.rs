//! The golden answers that all three languages share, through the public API.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory, host};

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
            max_wait: host::max_wait("", step["maxWaitMs"].as_f64().expect("a wait")).unwrap_or(Duration::ZERO),
        },
        other => panic!("unknown call {other}"),
    }
}

fn assert_answers(info: &LimitInfo, want: &Value, step: &Value) {
    let got = serde_json::json!({
        "blocked": info.blocked, "remaining": info.remaining, "waitMs": info.wait_ms,
        "resetMs": info.reset_ms, "resetSec": info.reset_sec(),
        "fullResetMs": info.full_reset_ms, "fullResetSec": info.full_reset_sec(),
    });
    assert_eq!(&got, want, "in step {step}");
}

#[test]
fn one_limit_at_a_time() {
    let vectors = vectors("decisions.json");
    for sequence in list(&vectors, "one") {
        let limit = Limit::from_json(&sequence["limit"].to_string()).expect("a sound definition");
        let limiter = Limiter::new(Memory::new());
        let factor = sequence["factor"].as_f64().expect("a factor");
        for step in list(sequence, "steps") {
            if step["call"] == "reset" {
                limiter.reset_sync(&limit, "actor").expect("a reset");
                continue;
            }
            let now = host::instant(limit.key(), step["now"].as_f64().expect("a time")).expect("a time");
            let check = Check::new(&limit, "actor").cost(step["cost"].as_u64().expect("a cost")).factor(factor);
            let info = limiter.decide_sync_at(&[check], call(step), now).expect("an answer");
            assert_answers(&info, &step["want"], &serde_json::json!([sequence["limit"], step]));
        }
    }
}

#[test]
fn several_limits_together() {
    let vectors = vectors("decisions.json");
    for sequence in list(&vectors, "together") {
        let limits: Vec<_> = list(sequence, "limits")
            .iter()
            .map(|wire| Limit::from_json(&wire.to_string()).expect("a sound definition"))
            .collect();
        let limiter = Limiter::new(Memory::new());
        for step in list(sequence, "steps") {
            let now = host::instant("", step["now"].as_f64().expect("a time")).expect("a time");
            let costs = list(step, "costs").iter().map(|cost| cost.as_u64().expect("a cost"));
            let checks: Vec<_> =
                limits.iter().zip(costs).map(|(limit, cost)| Check::new(limit, "actor").cost(cost)).collect();
            let info = limiter.decide_sync_at(&checks, call(step), now).expect("an answer");
            assert_answers(&info, &step["want"], step);
            for (info, want) in info.checks().iter().zip(list(step, "each")) {
                assert_answers(info, want, step);
            }
        }
    }
}
