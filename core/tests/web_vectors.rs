//! The rules that all frameworks share, as all languages are tested for them.

use std::path::Path;

use crate::http_vectors::{list, number, text};
use serde_json::{Value, json};
use tidegate::http::{Denials, Gate, Names, RequestError, Syntax, client_of, key_of, route_name, template};

fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/web.json");
    let mut all: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON");
    let Value::Array(cases) = all[name].take() else { panic!("{name} is a list") };
    assert!(!cases.is_empty(), "{name}");
    cases
}

fn texts(value: &Value) -> Vec<&str> {
    list(value).iter().map(text).collect()
}

fn gate(options: &Value, scope: &str) -> Gate {
    let mut fields = vec![("scope".to_owned(), tidegate::limits::Value::Text(scope.to_owned()))];
    for (name, given) in options.as_object().expect("options") {
        let value = |value: &Value| match value {
            Value::Number(number) => tidegate::limits::Value::Number(number.as_f64().expect("a double")),
            other => tidegate::limits::Value::Text(text(other).to_owned()),
        };
        match given {
            Value::Array(items) => fields.extend(items.iter().map(|item| (name.clone(), value(item)))),
            one => fields.push((name.clone(), value(one))),
        }
    }
    Gate::from_fields(fields).expect("sound options")
}

#[test]
fn actors() {
    for case in cases("clients") {
        let prefix = number(&case[1]).try_into().expect("small");
        assert_eq!(client_of(text(&case[0]), prefix).ok().as_deref(), case[2].as_str(), "{case}");
    }
    for case in cases("keys") {
        assert_eq!(key_of(text(&case[0])), text(&case[1]));
    }
}

#[test]
fn names() {
    for case in cases("templates") {
        let syntax = text(&case[0]).parse::<Syntax>().expect("a syntax");
        assert_eq!(template(text(&case[1]), syntax), text(&case[2]), "{case}");
    }
    for case in cases("names") {
        assert_eq!(route_name(&texts(&case[0]), text(&case[1])), text(&case[2]));
    }
    let mut names = Names::new();
    for case in cases("claims") {
        assert_eq!(names.claim(text(&case[0]), number(&case[1])), case[2] == true, "{case}");
    }
}

#[test]
fn request_errors() {
    for case in cases("request errors") {
        let found = RequestError::of_field(text(&case["field"]), text(&case["value"]));
        assert_eq!(found.map(RequestError::name), case["name"].as_str(), "{case}");
        assert_eq!(found.map(|error| u64::from(error.status())), case["status"].as_u64(), "{case}");
    }
    for case in cases("rejections") {
        let error = text(&case["name"]).parse::<RequestError>().expect("an error");
        let refusal = gate(&case["options"], "").rejection(error, &texts(&case["accept"]));
        let headers: std::collections::BTreeMap<_, _> = refusal.headers.iter().cloned().collect();
        assert_eq!((json!(refusal.status), json!(headers)), (case["status"].clone(), case["headers"].clone()));
        let body = if case["body"].is_object() {
            serde_json::from_str(&refusal.body).expect("JSON")
        } else {
            json!(refusal.body)
        };
        assert_eq!(body, case["body"]);
        assert_eq!(refusal.retry_after, 0);
    }
}

#[test]
fn denials() {
    for case in cases("denials") {
        let mut denials = Denials::new();
        for (at, told) in list(&case["at"]).iter().zip(list(&case["told"])) {
            let found: Vec<_> = (0..number(&at[1])).filter_map(|_| denials.note(number(&at[0]))).collect();
            assert_eq!(json!([found.len(), found.first().copied().unwrap_or(0)]), *told, "{}", case["says"]);
        }
    }
}

#[test]
fn warnings_about_proxies() {
    for (index, case) in cases("forwarded").iter().enumerate() {
        let gate = gate(&case["options"], &format!("warnings_about_proxies {index}"));
        let client = gate.client(case["peer"].as_str(), &texts(&case["lines"])).expect("an address");
        assert_eq!(client.actor, text(&case["actor"]), "{}", case["says"]);
        let mistake = client.warning.map(|warning| warning.mistake.code());
        assert_eq!(mistake, case["mistake"].as_str(), "{}", case["says"]);
    }
}
