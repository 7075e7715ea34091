//! The golden answers about HTTP that all languages share.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tidegate::headers::{Header, Policy, PolicyFields, RateLimits, parse};
use tidegate::http::{Gate, combined};
use tidegate::{Call, Check, ErrorKind, Limit, LimitError, LimitInfo, Limiter, Memory, ffi};

fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/http.json");
    let mut all: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON");
    let Value::Array(cases) = all[name].take() else { panic!("{name} is a list") };
    assert!(cases.len() > 3, "{name}");
    cases
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn gate(options: &Value) -> Result<Gate, LimitError> {
    let value = |value: &Value| match value {
        Value::Number(number) => tidegate::limits::Value::Number(number.as_f64().expect("a double")),
        Value::String(text) => tidegate::limits::Value::Text(text.clone()),
        Value::Bool(flag) => tidegate::limits::Value::Bool(*flag),
        other => panic!("no option: {other}"),
    };
    let mut fields = Vec::new();
    for (name, given) in options.as_object().expect("options") {
        match given {
            Value::Array(items) => fields.extend(items.iter().map(|item| (name.clone(), value(item)))),
            one => fields.push((name.clone(), value(one))),
        }
    }
    Gate::from_fields(fields)
}

/// The answers of a case, with the keys of their checks and what each cost.
fn answers(case: &Value) -> Vec<(String, LimitInfo, u64)> {
    let mut answers = Vec::new();
    for answer in list(&case["answers"]) {
        let limits: Vec<_> = list(&answer["limits"]).iter().map(limit).collect();
        let limiter = Limiter::new(Memory::new());
        let mut last = None;
        for step in list(&answer["steps"]) {
            let costs = list(&step["costs"]).iter().map(number);
            let checks: Vec<_> =
                limits.iter().zip(costs).map(|(limit, cost)| Check::new(limit, "a").cost(cost)).collect();
            let now = ffi::instant("", step["now"].as_f64().expect("a time")).expect("a time");
            last = limiter.decide_sync_at(&checks, Call::Limit, now).ok();
        }
        let info = last.expect("an answer to the last step");
        let costs = list(&answer["steps"]).last().map_or(&[][..], |step| list(&step["costs"]));
        let each = limits.iter().zip(info.checks()).zip(costs);
        answers.extend(each.map(|((limit, info), cost)| (limit.key().to_owned(), info.clone(), number(cost))));
    }
    answers
}

fn limit(wire: &Value) -> Limit {
    Limit::from_json(&wire.to_string()).expect("a sound definition")
}

fn policies(answers: &[(String, LimitInfo, u64)]) -> Vec<Policy<'_>> {
    answers.iter().map(|(key, info, cost)| Policy::new(key, info).cost(*cost)).collect()
}

fn by_name(headers: &[Header]) -> Value {
    let named: BTreeMap<_, _> = headers.iter().cloned().collect();
    assert_eq!(named.len(), headers.len(), "each header once");
    json!(named)
}

#[test]
fn clients() {
    for case in cases("clients") {
        let gate = gate(&case["options"]).expect("sound options");
        let lines: Vec<_> = list(&case["lines"]).iter().map(text).collect();
        match (gate.client(case["peer"].as_str(), &lines), case["actor"].as_str()) {
            (Ok(client), Some(actor)) => assert_eq!(client.actor, actor, "{}", case["says"]),
            (Err(error), None) => assert_eq!(error.mistake().code(), case["mistake"], "{}", case["says"]),
            (found, _) => panic!("{}: {found:?}", case["says"]),
        }
    }
}

#[test]
fn headers() {
    for case in cases("headers") {
        let gate = gate(&case["options"]).expect("sound options");
        let answers = answers(&case);
        let status = number(&case["status"]).try_into().expect("a status");
        assert_eq!(by_name(&gate.headers(&policies(&answers), status)), case["headers"], "{}", case["says"]);
    }
}

#[test]
fn refusals() {
    for case in cases("refusals") {
        let gate = gate(&case["options"]).expect("sound options");
        let answers = answers(&case);
        let accept: Vec<_> = list(&case["accept"]).iter().map(text).collect();
        let refusal = gate.refusal(&policies(&answers), &accept, case["detail"].as_str());
        assert_eq!(by_name(&refusal.headers), case["headers"], "{}", case["says"]);
        let body = match &case["body"] {
            Value::String(_) => json!(refusal.body),
            _ => serde_json::from_str(&refusal.body).expect("JSON"),
        };
        assert_eq!(body, case["body"], "{}", case["says"]);
        assert_eq!(json!(refusal.status), case["status"], "{}", case["says"]);
        assert_eq!(json!(refusal.media_type), case["mediaType"], "{}", case["says"]);
        assert_eq!(json!(refusal.retry_after), case["retryAfter"], "{}", case["says"]);
    }
}

#[test]
fn headers_read_back() {
    let policy = |policy: &PolicyFields| {
        json!({
            "name": policy.name, "quota": policy.quota, "windowMs": policy.window_ms, "remaining": policy.remaining,
            "resetMs": policy.reset_ms, "cost": policy.cost, "unit": policy.unit,
            "partitionKey": policy.partition_key,
        })
    };
    for case in cases("parsed") {
        let pairs = list(&case["headers"]).iter().map(|pair| (text(&pair[0]), text(&pair[1])));
        let RateLimits { policies, limit, remaining, reset_ms, full_reset_ms, retry_after_ms, .. } =
            parse(pairs, Some(number(&case["now"]) * 1000));
        let read = json!({
            "policies": policies.iter().map(policy).collect::<Vec<_>>(), "limit": limit, "remaining": remaining,
            "resetMs": reset_ms, "fullResetMs": full_reset_ms, "retryAfterMs": retry_after_ms,
        });
        assert_eq!(read, case["limits"], "{}", case["says"]);
    }
}

#[test]
fn combined_checks() {
    for case in cases("combined") {
        let limits: Vec<_> = list(&case["checks"]).iter().map(|check| limit(&check[0])).collect();
        let checks: Vec<_> = limits
            .iter()
            .zip(list(&case["checks"]))
            .map(|(limit, check)| {
                let factor = check[3].as_f64().expect("a factor");
                Check::new(limit, text(&check[1])).cost(number(&check[2])).factor(factor)
            })
            .collect();
        let kept: Vec<_> = combined(&checks).kept.iter().map(|(index, check)| json!([index, check.units()])).collect();
        assert_eq!(Value::Array(kept), case["kept"], "{}", case["says"]);
    }
}

#[test]
fn refused_options() {
    for case in cases("refused options") {
        let error = gate(&case["options"]).expect_err("refused");
        assert_eq!(error.field(), case["field"], "{error}");
        assert_eq!(if error.kind() == ErrorKind::Type { "type" } else { "range" }, case["kind"], "{error}");
    }
}
