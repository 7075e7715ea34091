//! The definitions that every language refuses, and as what: `tests/vectors/bad_input.json`.

use std::path::Path;

use serde_json::Value as Json;
use tidegate::limits::Value;
use tidegate::{ErrorKind, Limit};

fn vectors() -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors/bad_input.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
}

/// A list, or the name of one that several have in common.
fn list<'a>(vectors: &'a Json, given: &'a Json) -> &'a [Json] {
    let named = given.as_str().map_or(given, |name| &vectors["lists"][name]);
    named.as_array().unwrap_or_else(|| panic!("a list: {given}"))
}

fn value(json: &Json) -> Value {
    match json.get("number").and_then(Json::as_str) {
        Some(number) => Value::Number(number.parse().expect("a number that JSON has no word for")),
        None if json.get("utf16").is_some() => {
            let units: Vec<u16> = serde_json::from_value(json["utf16"].clone()).expect("units");
            String::from_utf16(&units).map_or(Value::Malformed, Value::Text)
        }
        None => serde_json::from_value(json.clone()).expect("any value"),
    }
}

/// A definition's fields with one of them replaced or, without a value, left out.
fn changed(definition: &Json, field: &str, value: Option<Value>) -> Vec<(String, Value)> {
    let fields = definition.as_object().expect("an object").iter().filter(|(name, _)| *name != field);
    let fields = fields.map(|(name, json)| (name.clone(), self::value(json)));
    fields.chain(value.map(|value| (field.to_owned(), value))).collect()
}

/// Every definition of a group with what is done to it.
fn each(vectors: &Json, group: &str, mut test: impl FnMut(&Json, &str, Vec<(String, Value)>)) {
    let mut tested = 0;
    for case in list(vectors, &vectors[group]) {
        for kind in list(vectors, &case["of"]) {
            let definition = &vectors["definitions"][kind.as_str().expect("a name")];
            for field in list(vectors, &case["fields"]).iter().filter_map(Json::as_str) {
                if definition.get(field).is_none() && case["added"] != true {
                    continue;
                }
                let values =
                    case.get("values").map(|values| list(vectors, values).iter().map(|json| Some(value(json))));
                for value in values.map_or_else(|| vec![None], Iterator::collect) {
                    tested += 1;
                    test(case, field, changed(definition, field, value));
                }
            }
        }
    }
    assert!(tested > 0, "{group} is tested");
}

fn is_refused(case: &Json, field: &str, fields: Vec<(String, Value)>) {
    let about = format!("{fields:?}");
    let error = Limit::from_fields(fields).expect_err(&about);
    assert_eq!((error.key(), error.field()), (case["key"].as_str().unwrap_or("k"), field), "{about}: {error}");
    let kind = if case["kind"] == "type" { ErrorKind::Type } else { ErrorKind::Range };
    assert_eq!(error.kind(), kind, "{about}: {error}");
    assert!(error.to_string().ends_with(error.value()) && error.to_string().len() < 400, "{error}");
    assert!(!error.to_string().chars().any(char::is_control), "{error:?}");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let vectors = vectors();
    for (kind, definition) in vectors["definitions"].as_object().expect("definitions") {
        serde_json::from_value::<Limit>(definition.clone()).unwrap_or_else(|error| panic!("{kind} is sound: {error}"));
    }
    each(&vectors, "refused", is_refused);
    each(&vectors, "left out", is_refused);
}

#[test]
fn what_is_at_a_bound_is_taken() {
    each(&vectors(), "taken", |_, field, fields| {
        Limit::from_fields(fields.clone()).unwrap_or_else(|error| panic!("{field} of {fields:?}: {error}"));
    });
}
