//! The JSON Schema: it is sound, and it and the parser agree.

use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate::Limit;
use tidegate::config::{Format, Limits};

fn schema() -> Value {
    serde_json::from_str(Limit::json_schema()).expect("JSON")
}

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).expect("a sound schema")
}

/// The schema of one of its definitions.
fn validator_of(name: &str) -> Validator {
    let mut schema = schema();
    let object = schema.as_object_mut().expect("an object");
    object.retain(|name, _| name == "$schema" || name == "$defs");
    object.insert("$ref".to_owned(), json!(format!("#/$defs/{name}")));
    jsonschema::draft202012::new(&schema).expect("a sound schema")
}

#[test]
fn it_is_sound_itself() {
    jsonschema::meta::validate(&schema()).expect("a schema of its draft");
}

/// The limits of a schema: bounds on what several numbers make together.
fn is_about_several_numbers(problem: &str) -> bool {
    [
        "must let a full entry drain within 100 years",
        "so far above 1 that a full entry drains within 100 years",
        "for its rate to be kept exactly",
        "for the weights to be kept exactly",
        "must be at most the period",
        "permits be saved up",
        // A legacy limit may have any `max` where its duration is 0, which is no limit.
        ": max must be at most",
        // What a legacy limit's numbers make of each other.
        ": dripSize must be at most",
        ": dripSize must be finite",
        ": dripRate must be finite",
    ]
    .iter()
    .any(|words| problem.contains(words))
}

/// True if both accept it.
fn agree(validator: &Validator, definition: &Value) -> Result<bool, String> {
    match (validator.is_valid(definition), Limit::from_json(&definition.to_string())) {
        (true, Ok(_)) => Ok(true),
        (false, Err(_)) => Ok(false),
        (true, Err(error)) if is_about_several_numbers(&error.to_string()) => Ok(false),
        // Only both numbers together show it.
        (true, Err(error)) if error.to_string().contains("blockMax must be at least the time of the first block") => {
            Ok(false)
        }
        (true, Err(error)) => Err(format!("only the parser refuses {definition}: {error}")),
        (false, Ok(_)) => Err(format!("only the schema refuses {definition}")),
    }
}

#[test]
fn good_definitions_are_good_to_both() {
    let validator = validator();
    for definition in [
        json!({ "key": "login", "type": "bucket", "size": 10, "dripRate": 1000, "dripSize": 1, "factorScales": "size" }),
        json!({ "key": "notes/create", "max": 300, "duration": 3_600_000, "minInterval": 1000 }),
        json!({ "key": "api", "type": "token-bucket", "count": 100, "period": 1000, "burst": 20 }),
        json!({ "key": "daily", "type": "fixed-window", "max": 1000, "period": 86_400_000, "anchor": "epoch" }),
        json!({ "key": "sms", "type": "sliding-window", "max": 5, "period": 3_600_000, "resolution": 600_000 }),
        json!({ "key": "web", "type": "sliding-counter", "max": 100, "period": 60_000 }),
        json!({ "key": "otp", "type": "sliding-log", "max": 5, "period": 60_000, "minInterval": 1000, "countBlocked": true }),
        json!({ "key": "score", "type": "decay", "max": 5, "decayFactor": 1.5, "resolution": 0.5 }),
        json!({ "key": "mailer", "type": "smooth", "rate": 0.5, "maxBurst": 0, "warmup": 3000, "coldFactor": 1 }),
        json!({ "key": "none" }),
        json!({ "key": "exact", "max": 1e15, "duration": 0, "translation": "exact" }),
        json!({ "key": "~".repeat(64 << 10), "minInterval": 0 }),
        json!({ "key": "/files/naïve\n\u{0}", "minInterval": 0 }),
    ] {
        assert_eq!(agree(&validator, &definition), Ok(true), "{definition}");
    }
}

#[test]
fn bad_definitions_are_bad_to_both() {
    let validator = validator();
    for definition in [
        json!(null),
        json!([]),
        json!("10/s"),
        json!({}),
        json!({ "key": "" }),
        json!({ "key": 5 }),
        json!({ "key": "~".repeat((64 << 10) + 1) }),
        json!({ "key": "a", "type": null }),
        json!({ "key": "a", "type": "leaky", "size": 1 }),
        json!({ "key": "a", "type": "legacy" }),
        json!({ "key": "a", "type": "bucket" }),
        json!({ "key": "a", "type": "bucket", "size": "1" }),
        json!({ "key": "a", "type": "bucket", "size": 0.99 }),
        json!({ "key": "a", "type": "bucket", "size": 1_000_000_000_001_u64 }),
        json!({ "key": "a", "type": "bucket", "size": 1, "dripRate": 0.5 }),
        json!({ "key": "a", "type": "bucket", "size": 1, "dripSize": null }),
        json!({ "key": "a", "type": "bucket", "size": 1, "factorScales": "rate" }),
        json!({ "key": "a", "type": "bucket", "size": 1, "burst": 1 }),
        json!({ "key": "a", "type": "fixed-window", "max": 1, "period": 0 }),
        json!({ "key": "a", "type": "decay", "max": 1, "decayFactor": 1, "resolution": 1 }),
        json!({ "key": "a", "type": "smooth", "rate": 0 }),
        json!({ "key": "a", "type": "sliding-log", "max": 1, "period": 1, "countBlocked": 0 }),
        json!({ "key": "a", "max": 1 }),
        json!({ "key": "a", "duration": 1 }),
        json!({ "key": "a", "max": 1, "duration": -1 }),
        json!({ "key": "a", "size": 1 }),
    ] {
        assert_eq!(agree(&validator, &definition), Ok(false), "{definition}");
    }
}

#[test]
fn texts_are_the_same_to_both() {
    let validator = validator_of("text");
    for text in [
        "100/minute",
        "10 per second",
        "5/15m burst 20",
        "5 PER 15 Minutes",
        "3per2h",
        " 1 / 1 s burst1 ",
        "0010/s",
        "1000000000000/ms",
        "1000000000001/ms",
        "10per second",
        "10 persecond",
        "10/sburst 2",
        "10/s burst",
        "0/s",
        "1/0s",
        "",
        "10",
        "10/fortnight",
        "1.5/s",
        "-1/s",
        "1/s burst 0",
        "1/s\n",
        "1/s\u{a0}",
        "１/s",
        "1//s",
        "1/ per s",
        "1 / s b",
        "1/5 5s",
        "1/d burst 010000000000000",
        "1/w 5",
        "1/month",
        "5 per 2 Years",
        "1/y",
        "1/s fixed-window",
        "1/s Sliding-Window",
        "1/m sliding-window resolution 10s",
        "1/m sliding-windowresolution 10s",
        "1/m sliding-window resolution10 s",
        "1/m sliding-window resolution s",
        "1/m sliding-window resolutions",
        "1/m sliding-window resolution",
        "1/m sliding-window burst 5",
        "1/s sliding-counter",
        "1/s sliding-log",
        "1/s sliding-log burst 1",
        "1/s token-bucket burst 9",
        "1/s token-bucket",
        "1/s burst 9 token-bucket",
        "1/s-token-bucket",
        "1/s token-bucket-",
        "1/s bucket",
        "1/s; 1/m",
    ] {
        assert_eq!(validator.is_valid(&json!(text)), Limit::parse("a", text).is_ok(), "{text:?}");
    }
}

#[test]
fn documents_are_the_same_to_both() {
    let validator = validator_of("limits");
    for document in [
        json!({}),
        json!({ "$schema": "limit.schema.json#/$defs/limits", "api": "1/s" }),
        json!({ "limits": { "api": "1/s", "login": { "type": "bucket", "size": 1 } } }),
        json!({ "limits": { "limits": { "key": "a", "max": 1, "duration": 1 } } }),
        json!({ "limits": "1/s", "api": "1/s" }),
        json!({ "limits": {}, "api": "1/s" }),
        json!({ "limits": { "api": "1 s" } }),
        json!({ "limits": { "login": { "type": "bucket" } } }),
        json!({ "$schema": 1 }),
        json!({ "$schema": {} }),
        json!({ "$schema": { "type": "bucket", "size": 1 } }),
        json!({ "login": {} }),
        json!({ "login": { "key": "auth", "translation": "exact" } }),
        json!({ "login": { "minInterval": 0 } }),
        json!({ "login": { "max": 1, "duration": 0 } }),
        json!({ "api": 1 }),
        json!({ "api": ["1/s"] }),
        json!({ "api": "1/s", "overrides": [] }),
        json!({ "api": "1/s", "overrides": "1/s" }),
        json!({ "limits": { "api": "1/s" }, "overrides": "1/s" }),
        json!({ "limits": { "api": "1/s" }, "overrides": [{ "actor": "a", "factor": 0.5 }] }),
        json!({ "api": "1/s", "overrides": [{ "pattern": "a*", "limit": "api", "definition": "5/s" }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "a", "limit": "api", "definition": { "max": 1, "duration": 1 } }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "a", "limit": "api", "definition": { "factorScales": "size" } }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "a", "limit": "api", "definition": { "key": "api", "type": "bucket", "size": 1 } }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "a", "definition": "5/s" }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "", "unlimited": true }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "a", "unlimited": false }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "a" }] }),
        json!({ "api": "1/s", "overrides": [{ "factor": 1 }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "a", "pattern": "a*", "factor": 1 }] }),
        json!({ "api": "1/s", "overrides": [{ "pattern": "a", "factor": 1 }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "a", "factor": -1 }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "a", "factor": null }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "a", "factor": 1, "limit": null }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "a", "factor": 1, "unlimited": true }] }),
        json!({ "api": "1/s", "overrides": [{ "actor": "a", "factor": 1, "colour": 1 }] }),
        json!({ "api": "1/s", "overrides": ["a"] }),
        json!(["1/s"]),
        json!("1/s"),
    ] {
        let parsed = Limits::from_str(&document.to_string(), Format::Json);
        assert_eq!(validator.is_valid(&document), parsed.is_ok(), "{document} {parsed:?}");
    }
}

const FIELDS: [&str; 18] = [
    "size",
    "dripRate",
    "dripSize",
    "factorScales",
    "count",
    "period",
    "burst",
    "max",
    "anchor",
    "resolution",
    "countBlocked",
    "minInterval",
    "decayFactor",
    "rate",
    "maxBurst",
    "warmup",
    "coldFactor",
    "duration",
];

/// The fields that a type takes, by the schema; and what may stand in each.
fn fields_of(kind: &str) -> Vec<String> {
    static SCHEMA: LazyLock<Value> = LazyLock::new(schema);
    let properties = &SCHEMA["$defs"][kind]["properties"];
    properties
        .as_object()
        .expect("properties")
        .keys()
        .filter(|name| *name != "key" && *name != "type")
        .cloned()
        .collect()
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        12 => prop::sample::select(vec![1.0, 2.0, 10.0, 1000.0, 60_000.0]).prop_map(Value::from),
        3 => (0.0..1e6).prop_map(Value::from),
        2 => prop::sample::select(vec![0.0, -0.0, -1.0, 0.5, 1.5, 0.0001, 1e12, 1e13, 1e300, 5e-324]).prop_map(Value::from),
        2 => any::<bool>().prop_map(Value::from),
        3 => prop::sample::select(vec!["size", "size-and-rate", "epoch", "first-request", "bucket", "exact", "", "1"]).prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(json!([1])),
        1 => Just(json!({})),
    ]
}

fn any_definition() -> impl Strategy<Value = Value> {
    let kinds = vec![
        "bucket",
        "token-bucket",
        "fixed-window",
        "sliding-window",
        "sliding-counter",
        "sliding-log",
        "decay",
        "smooth",
        "legacy",
    ];
    (
        prop::sample::select(kinds),
        prop::collection::vec((any_value(), 0..10_u8), 8),
        prop::option::weighted(0.1, (prop::sample::select(FIELDS.to_vec()), any_value())),
    )
        .prop_map(|(kind, values, stranger)| {
            let mut definition = json!({ "key": "a" });
            if kind != "legacy" {
                definition["type"] = json!(kind);
            }
            for (name, (value, given)) in fields_of(kind).into_iter().zip(values) {
                // Most fields are there, and most of the words and flags are where they belong.
                let value = match name.as_str() {
                    "factorScales" | "anchor" | "translation" if given < 7 => continue,
                    "countBlocked" if given < 7 => json!(true),
                    _ if given == 0 => continue,
                    _ => value,
                };
                definition[name] = value;
            }
            if let Some((name, value)) = stranger {
                definition[name] = value;
            }
            definition
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn random_definitions_are_the_same_to_both(definitions in prop::collection::vec(any_definition(), 8)) {
        thread_local! {
            static VALIDATOR: Validator = validator();
        }
        for definition in definitions {
            let agreed = VALIDATOR.with(|validator| agree(validator, &definition));
            prop_assert!(agreed.is_ok(), "{agreed:?}");
        }
    }
}
