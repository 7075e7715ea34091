//! Options of a limiter by their names: bounds, types and words, the same whatever the store.
#![cfg(feature = "redis")]

use serde_json::Value as Json;
use tidegate::ffi::{Dialect, STORE_OPTIONS, Takes};
use tidegate::limits::Value;
use tidegate::remote::Event;
use tidegate::{ErrorKind, LimitError, Limiter, ffi};

const STORES: [&str; 2] = ["memory://", "redis://localhost"];

fn opened(dialect: Dialect, name: &str, value: &Value) -> Result<(), LimitError> {
    let open = |url| ffi::open(dialect, url, [(name.to_owned(), value.clone())], |_: &Event| {}).map(drop);
    let [memory, shared] = STORES.map(open);
    assert_eq!(memory, shared, "{name}");
    memory
}

fn refused(name: &str, value: &Value) -> LimitError {
    opened(Dialect::Wire, name, value).expect_err(name)
}

#[test]
fn every_option_has_bounds_that_hold_in_every_language() {
    for option in STORE_OPTIONS {
        let mut wrong = vec![Value::Other("an object".to_owned())];
        let mut out_of_bounds = Vec::new();
        match option.takes {
            Takes::Milliseconds(least) => {
                wrong.extend([Value::Text("1".to_owned()), Value::Bool(true)]);
                out_of_bounds.extend([least - 0.5, 3_600_001.0, f64::NAN, f64::INFINITY]);
            }
            Takes::Count(least, most) => {
                wrong.extend([Value::Text("1".to_owned()), Value::Bool(true)]);
                out_of_bounds.extend([least - 1.0, least + 0.5, most * 2.0, f64::NAN, f64::NEG_INFINITY]);
            }
            Takes::Flag => wrong.extend([Value::Text("true".to_owned()), Value::Number(1.0)]),
            _ => wrong.extend([Value::Number(1.0), Value::Bool(true)]),
        }
        for value in wrong {
            let error = refused(option.name, &value);
            assert_eq!((error.kind(), error.field()), (ErrorKind::Type, option.name), "{value}: {error}");
        }
        for number in out_of_bounds {
            let error = refused(option.name, &Value::Number(number));
            assert_eq!((error.kind(), error.field()), (ErrorKind::Range, option.name), "{number}: {error}");
        }
        assert_eq!(opened(Dialect::Wire, option.name, &Value::Null), Ok(()), "{} is not given", option.name);
        if let Takes::Choice(names) = option.takes {
            let error = refused(option.name, &Value::Text("another".to_owned()));
            assert!(names.iter().all(|name| error.to_string().contains(&format!("{name:?}"))), "{error}");
        }
    }
}

#[test]
fn what_there_is_not_is_refused() {
    for name in ["time_out", "Timeout", "", "clock"] {
        let error = refused(name, &Value::Number(1.0));
        assert_eq!((error.kind(), error.field()), (ErrorKind::Type, name));
    }
    let twice = [1.0, 2.0].map(|number| ("timeout".to_owned(), Value::Number(number)));
    assert!(Limiter::open("memory://", twice).is_err_and(|error| error.field() == "timeout"));
    let alone = refused("sslKeyfile", &Value::Text("key.pem".to_owned()));
    assert_eq!(alone.to_string(), "sslKeyfile must go with sslCertfile, got it alone");
}

#[test]
fn errors_speak_the_callers_language() {
    let seconds = opened(Dialect::Python, "deny_cache", &Value::Number(3601.0)).expect_err("too long");
    assert_eq!(seconds.to_string(), "deny_cache must be from 0 to 3600 seconds, got 3601");
    let millis = opened(Dialect::JavaScript, "denyCacheMs", &Value::Number(3_600_001.0)).expect_err("too long");
    assert_eq!(millis.to_string(), "denyCacheMs must be from 0 to 3600000, got 3600001");
    let flag = opened(Dialect::Python, "on_error", &Value::Bool(true)).expect_err("no policy");
    assert_eq!(flag.to_string(), r#"on_error must be "local", "allow", "deny" or "raise", got True"#);
    for dialect in [Dialect::Wire, Dialect::Python, Dialect::JavaScript] {
        let names: std::collections::BTreeSet<_> =
            STORE_OPTIONS.iter().filter_map(|option| dialect.name_of(option)).collect();
        assert!(names.len() >= 14 && names.contains("password"), "{names:?}");
    }
}

#[test]
fn what_stands_beside_the_url_overrides_it() {
    let text = |name: &str, value: &str| (name.to_owned(), Value::Text(value.to_owned()));
    let url = "redis://ada:secret@localhost:6379/3";
    let limiter = Limiter::open(url, [text("username", ""), text("password", "")]).expect("no login");
    assert_eq!(limiter.url(), "redis://localhost:6379/3");
    assert_eq!(
        Limiter::open("redis://localhost", [text("password", "x")]).expect("a login").url(),
        "redis://…@localhost:6379"
    );
}

#[test]
fn every_language_refuses_and_takes_the_same() {
    let vectors: Json = serde_json::from_str(include_str!("../../tests/vectors/options.json")).expect("vectors");
    let mut seen = 0;
    for (group, kind, option, given) in ["refused", "taken"].into_iter().flat_map(|group| cases(&vectors, group)) {
        let answer = opened(Dialect::Wire, &option, &value(&given));
        match kind.as_deref() {
            None => assert_eq!(answer, Ok(()), "{option} = {given} is {group}"),
            Some(kind) => {
                let error = answer.expect_err(&format!("{option} = {given} is {group}"));
                let expected = if kind == "type" { ErrorKind::Type } else { ErrorKind::Range };
                assert_eq!((error.kind(), error.field()), (expected, &*option), "{given}: {error}");
            }
        }
        seen += 1;
    }
    assert!(seen > 80, "{seen} cases");
}

/// Each option of a group of vectors with each of its values, and the kind of the error where one is due.
fn cases<'a>(
    vectors: &'a Json,
    group: &'static str,
) -> impl Iterator<Item = (&'static str, Option<String>, String, Json)> + 'a {
    let list = |case: &'a Json, name| case[name].as_array().into_iter().flatten().cloned();
    vectors[group].as_array().into_iter().flatten().flat_map(move |case| {
        let kind = case["kind"].as_str().map(str::to_owned);
        list(case, "options").flat_map(move |option| {
            let (kind, option) = (kind.clone(), option.as_str().unwrap_or_default().to_owned());
            list(case, "values").map(move |value| (group, kind.clone(), option.clone(), value))
        })
    })
}

/// A value as a host language passes it.
fn value(given: &Json) -> Value {
    match given.get("number").and_then(Json::as_str) {
        Some(number) => Value::Number(number.parse().expect("a number that JSON has no word for")),
        None => serde_json::from_value(given.clone()).expect("any value"),
    }
}

#[test]
fn the_option_that_a_name_may_have_meant_is_named() {
    let named = |dialect, name: &str| opened(dialect, name, &Value::Number(1.0)).expect_err("no option").to_string();
    let wire = named(Dialect::Wire, "max_entries");
    assert_eq!(wire, "max_entries is not an option of a limiter (did you mean maxEntries?), got a value");
    let unit = named(Dialect::JavaScript, "denyCache");
    assert_eq!(unit, "denyCache is not an option of a limiter (did you mean denyCacheMs?), got a value");
    for far in ["", "clock", "ttl", "\u{0}", &"timeout".repeat(1000)] {
        assert!(!named(Dialect::Python, far).contains("mean"), "{far}");
    }
}
