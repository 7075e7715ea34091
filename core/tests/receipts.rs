//! The sequences of calls and receipts that all three languages share, in memory and over a server.
#![allow(missing_docs, reason = "a test")]

#[cfg(feature = "redis")]
mod servers;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Memory, Receipt, ffi};

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn call(step: &Value) -> Call {
    match step["call"].as_str().expect("a call") {
        "limit" => Call::Limit,
        "peek" => Call::Peek,
        "charge" => Call::Charge,
        "refund" => Call::Refund,
        "reset" => Call::Reset,
        "acquire" => {
            Call::Acquire { max_wait: Duration::from_millis(step["maxWaitMs"].as_u64().expect("whole milliseconds")) }
        }
        other => panic!("unknown call {other}"),
    }
}

/// The wanted fields of an answer.
fn check_fields(info: &LimitInfo, want: &Value, what: &str) {
    let got = json!({
        "blocked": info.blocked, "remaining": info.remaining, "resetMs": info.reset_ms,
        "fullResetMs": info.full_reset_ms, "waitMs": info.wait_ms,
    });
    for (name, value) in want.as_object().into_iter().flatten() {
        assert_eq!(&got[name], value, "{name} in {what}");
    }
}

fn play(sequence: &Value, limiter: &Limiter) {
    let limits: HashMap<_, _> = sequence["limits"].as_object().expect("limits").iter().collect();
    let limits: HashMap<_, _> = limits
        .iter()
        .map(|(name, wire)| (name.as_str(), Limit::from_json(&wire.to_string()).expect("sound")))
        .collect();
    let mut receipts: HashMap<&str, Receipt> = HashMap::new();
    for step in list(sequence, "steps") {
        let what = format!("{step} of {}", sequence["says"]);
        let now = ffi::instant("", step["now"].as_f64().expect("a time")).expect("a time");
        let info = if let Some(name) = step["use"].as_str() {
            let receipt = &receipts[name];
            let spent = match &step["spent"] {
                Value::Null => vec![0; receipt.checks().len()],
                Value::Array(each) => each.iter().map(|units| units.as_u64().expect("a cost")).collect(),
                units => vec![units.as_u64().expect("a cost"); receipt.checks().len()],
            };
            let info = receipt.settle_sync_at(&spent, now).expect("an answer");
            let used = Call::Undo { charged_at: now };
            (info.clone(), limiter.receipt(&receipt.checks(), used, &info))
        } else {
            let check = |check: &Value| {
                let limit = &limits[check["limit"].as_str().expect("a name")];
                let (actor, cost) = (check["actor"].as_str(), check["cost"].as_u64());
                (limit, actor.expect("an actor").to_owned(), cost.expect("a cost"), check["factor"].as_f64())
            };
            let checks: Vec<_> = list(step, "checks").iter().map(check).collect();
            let checks: Vec<_> = checks
                .iter()
                .map(|(limit, actor, cost, factor)| Check::new(limit, actor).cost(*cost).factor(factor.unwrap_or(1.0)))
                .collect();
            let info = limiter.decide_sync_at(&checks, call(step), now).expect("an answer");
            (info.clone(), limiter.receipt(&checks, call(step), &info))
        };
        let (info, receipt) = info;
        check_fields(&info, &step["want"], &what);
        for (info, want) in info.checks().iter().zip(list(step, "each")) {
            check_fields(info, want, &what);
        }
        if let Some(name) = step["receipt"].as_str() {
            receipts.insert(name, receipt);
        }
    }
}

fn sequences() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/receipts.json");
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("a vector file")).expect("JSON");
    list(&vectors, "sequences").to_vec()
}

#[test]
fn in_memory() {
    for sequence in sequences() {
        play(&sequence, &Limiter::new(Memory::new()));
    }
}

#[cfg(feature = "redis")]
#[test]
fn over_a_server() {
    use tidegate::{OnError, Redis};

    let server = servers::Server::start();
    let store = Redis::open(&server.url()).expect("a URL").on_error(OnError::Raise).timeout(Duration::from_secs(10));
    let limiter = Limiter::new(store);
    for (number, sequence) in sequences().iter().enumerate() {
        play(sequence, &limiter.namespace(&number.to_string()));
    }
}
