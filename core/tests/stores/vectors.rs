//! The golden answers that all languages share, played against a store.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};
use tidegate::{Call, Check, Limit, LimitInfo, Limiter, Receipt, ffi};

use crate::Subject;

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).expect("a vector file")).expect("JSON")
}

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
            let max_wait = step["maxWaitMs"].as_f64().expect("a wait");
            Call::Acquire { max_wait: ffi::max_wait("", max_wait).expect("a wait") }
        }
        "observe" => Call::Observe {
            remaining: step["remaining"].as_u64(),
            retry_after: step["retryAfterMs"].as_f64().map(|millis| ffi::retry_after("", millis).expect("a time")),
        },
        "block" => Call::Block { time: ffi::block_time("", step["forMs"].as_f64().expect("a time")).expect("a time") },
        other => panic!("unknown call {other}"),
    }
}

fn limit(wire: &Value) -> Limit {
    Limit::from_json(&wire.to_string()).expect("a sound definition")
}

fn limits(sequence: &Value) -> Vec<Limit> {
    match &sequence["limit"] {
        Value::Null => list(sequence, "limits").iter().map(limit).collect(),
        one => vec![limit(one)],
    }
}

fn now(step: &Value) -> u64 {
    ffi::instant("", step["now"].as_f64().expect("a time")).expect("a time")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a whole number")
}

fn factor(value: &Value) -> f64 {
    value.as_f64().expect("a factor")
}

fn answer(info: &LimitInfo) -> Value {
    json!({
        "blocked": info.blocked, "remaining": info.remaining, "waitMs": info.wait_ms,
        "resetMs": info.reset_ms, "resetSec": info.reset_sec(),
        "fullResetMs": info.full_reset_ms, "fullResetSec": info.full_reset_sec(),
    })
}

/// The wanted fields of an answer.
fn check_fields(info: &LimitInfo, want: &Value, what: &str) {
    let got = answer(info);
    for (name, value) in want.as_object().into_iter().flatten() {
        assert_eq!(&got[name], value, "{name} in {what}");
    }
}

/// The sequences whose limits the store keeps, each with a limiter of its own; answers how many steps they had.
fn play(
    subject: &impl Subject,
    files: &[&str],
    name: &str,
    mut step: impl FnMut(&Value, &[Limit], &Limiter, &Value),
) -> usize {
    let mut steps = 0;
    for file in files {
        for sequence in list(&read(file), name) {
            let limits = limits(sequence);
            if limits.iter().all(|limit| subject.keeps(limit)) {
                let limiter = subject.limiter();
                for each in list(sequence, "steps") {
                    step(sequence, &limits, &limiter, each);
                    steps += 1;
                }
            }
        }
    }
    steps
}

pub(crate) fn one_limit_at_a_time(subject: &impl Subject) {
    let steps =
        play(subject, &["decisions.json", "beyond.json", "legacy.json"], "one", |sequence, limits, limiter, step| {
            let check = Check::new(&limits[0], "actor").factor(factor(&sequence["factor"]));
            one_step(limiter, check, step);
        });
    assert!(steps >= 100, "{steps} steps");
}

pub(crate) fn definitions_and_factors_that_change(subject: &impl Subject) {
    let steps = play(subject, &["decisions.json", "beyond.json"], "changing", |_, limits, limiter, step| {
        let limit = &limits[usize::try_from(number(&step["limit"])).expect("an index")];
        one_step(limiter, Check::new(limit, "actor").factor(factor(&step["factor"])), step);
    });
    assert!(steps >= 100, "{steps} steps");
}

fn one_step(limiter: &Limiter, check: Check<'_>, step: &Value) {
    let cost = step["cost"].as_u64().unwrap_or(1);
    let info = limiter.decide_sync_at(&[check.cost(cost)], call(step), now(step)).expect("an answer");
    if step["call"] != "reset" {
        assert_eq!(answer(&info), step["want"], "in step {step} of {:?}", check.key());
    }
}

pub(crate) fn several_limits_together(subject: &impl Subject) {
    let steps = play(subject, &["decisions.json", "beyond.json"], "together", |sequence, limits, limiter, step| {
        let costs = list(step, "costs").iter().map(number);
        let check = |((limit, cost), of)| Check::new(limit, "actor").cost(cost).factor(factor(of));
        let checks: Vec<_> = limits.iter().zip(costs).zip(list(sequence, "factors")).map(check).collect();
        let info = limiter.decide_sync_at(&checks, call(step), now(step)).expect("an answer");
        let mut merged = answer(&info);
        merged["binding"] = info.binding().into();
        assert_eq!(merged, step["want"], "in step {step}");
        let each: Vec<_> = info.checks().iter().map(answer).collect();
        assert_eq!(Value::from(each), step["each"], "in step {step}");
    });
    assert!(steps >= 100, "{steps} steps");
}

pub(crate) fn as_much_as_there_is_room_for(subject: &impl Subject) {
    let steps = play(subject, &["beyond.json"], "upTo", |sequence, limits, limiter, step| {
        let (cost, least) = (number(&step["cost"]), number(&step["atLeast"]));
        let check = |(limit, of)| Check::new(limit, "actor").cost(cost).at_least(least).factor(factor(of));
        let checks: Vec<_> = limits.iter().zip(list(sequence, "factors")).map(check).collect();
        let looked = limiter.decide_sync_at(&checks, Call::Peek, now(step)).expect("an answer");
        let info = limiter.decide_sync_at(&checks, Call::Limit, now(step)).expect("an answer");
        assert_eq!((info.granted, looked.granted), (number(&step["granted"]), info.granted), "in step {step}");
        let mut merged = answer(&info);
        merged["binding"] = info.binding().into();
        assert_eq!(merged, step["want"], "in step {step}");
        let each: Vec<_> = info.checks().iter().map(answer).collect();
        assert_eq!(Value::from(each), step["each"], "in step {step}");
    });
    assert!(steps >= 10, "{steps} steps");
}

pub(crate) fn units_are_held_released_and_renewed(subject: &impl Subject) {
    // The receipts of the steps of one sequence, whose first step tells it from the next one.
    let mut receipts: Vec<Receipt> = Vec::new();
    let steps = play(subject, &["beyond.json"], "held", |sequence, limits, limiter, step| {
        if std::ptr::eq(step, &raw const sequence["steps"][0]) {
            receipts.clear();
        }
        let (info, receipt) = match step["of"].as_u64() {
            None => {
                let costs = list(step, "costs").iter().map(number);
                let of = |(limit, cost)| Check::new(limit, "actor").cost(cost).factor(factor(&sequence["factor"]));
                let checks: Vec<_> = limits.iter().zip(costs).map(of).collect();
                let info = limiter.decide_sync_at(&checks, call(step), now(step)).expect("an answer");
                let each: Vec<_> = info.checks().iter().map(answer).collect();
                assert_eq!(Value::from(each), step["each"], "in step {step}");
                let receipt = limiter.receipt(&checks, call(step), &info);
                (info, receipt)
            }
            Some(of) => {
                let receipt = &receipts[usize::try_from(of).expect("an index")];
                if step["call"] == "renew" {
                    receipt.renew_sync_at(now(step)).expect("an answer")
                } else {
                    let info = receipt.release_sync_at(now(step)).expect("an answer");
                    (info.clone(), limiter.receipt(&[], Call::Refund, &info))
                }
            }
        };
        let mut got = answer(&info);
        if step["of"].is_null() {
            got["binding"] = info.binding().into();
        }
        assert_eq!(got, step["want"], "in step {step}");
        receipts.push(receipt);
    });
    assert!(steps >= 100, "{steps} steps");
}

pub(crate) fn receipts_are_used_once(subject: &impl Subject) {
    for sequence in list(&read("receipts.json"), "sequences") {
        let limits: HashMap<_, _> = sequence["limits"].as_object().expect("limits").iter().collect();
        let limits: HashMap<_, _> = limits.into_iter().map(|(name, wire)| (name.as_str(), limit(wire))).collect();
        if limits.values().all(|limit| subject.keeps(limit)) {
            play_receipts(&subject.limiter(), sequence, &limits);
        }
    }
}

fn play_receipts(limiter: &Limiter, sequence: &Value, limits: &HashMap<&str, Limit>) {
    let mut receipts: HashMap<&str, Receipt> = HashMap::new();
    for step in list(sequence, "steps") {
        let what = format!("{step} of {}", sequence["says"]);
        let now = now(step);
        let (info, receipt) = if let Some(name) = step["use"].as_str() {
            let receipt = &receipts[name];
            let spent = match &step["spent"] {
                Value::Null => vec![0; receipt.checks().len()],
                Value::Array(each) => each.iter().map(number).collect(),
                units => vec![number(units); receipt.checks().len()],
            };
            let info = receipt.settle_sync_at(&spent, now).expect("an answer");
            (info.clone(), limiter.receipt(&receipt.checks(), Call::Undo { charged_at: now }, &info))
        } else {
            let checks: Vec<_> = list(step, "checks").iter().map(|wire| check(limits, wire)).collect();
            let info = limiter.decide_sync_at(&checks, call(step), now).expect("an answer");
            (info.clone(), limiter.receipt(&checks, call(step), &info))
        };
        check_fields(&info, &step["want"], &what);
        for (info, want) in info.checks().iter().zip(list(step, "each")) {
            check_fields(info, want, &what);
        }
        if let Some(name) = step["receipt"].as_str() {
            receipts.insert(name, receipt);
        }
    }
}

fn check<'a>(limits: &'a HashMap<&str, Limit>, wire: &'a Value) -> Check<'a> {
    let limit = &limits[wire["limit"].as_str().expect("a name")];
    let check = Check::new(limit, wire["actor"].as_str().expect("an actor"));
    check.cost(number(&wire["cost"])).factor(wire["factor"].as_f64().unwrap_or(1.0))
}
