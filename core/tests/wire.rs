//! The wire form there and back: the same limit from code, from serde, and from a file of any format.
#![cfg(all(feature = "toml", feature = "yaml"))]

use std::collections::HashSet;
use std::time::Duration;

use proptest::prelude::*;
use tidegate::Limit;
use tidegate::config::{Format, Limits};
use tidegate::limits::{Anchor, FactorScales, Kind, Translation};

fn millis() -> impl Strategy<Value = f64> {
    prop_oneof![
        (1_u32..=86_400_000).prop_map(f64::from),
        (1_u64..=86_400_000_000).prop_map(|micros| micros as f64 / 1000.0),
        0.001..1e7,
    ]
}

fn span(millis: f64) -> Duration {
    Duration::from_secs_f64(millis / 1000.0)
}

/// Doubles of every length, where parsers that round are found out.
fn decimal(least: f64, most: f64) -> impl Strategy<Value = f64> {
    prop_oneof![least..most, (least..most).prop_map(|number| (number * 100.0).round() / 100.0)]
}

fn any_limit() -> impl Strategy<Value = Limit> {
    let key = "[ -~é\u{7f}\n]{1,12}";
    let (count, flag) = (1_u64..=1_000_000, any::<bool>());
    prop_oneof![
        (key, count.clone(), 1_u64..=100, millis(), flag).prop_map(|(key, size, drip, rate, both)| {
            let scales = if both { FactorScales::SizeAndRate } else { FactorScales::Size };
            let bucket = Limit::bucket(key, size).drip_size(drip).drip_rate(span(rate.max(1.0)));
            bucket.factor_scales(scales).build()
        }),
        (key, count.clone(), millis(), prop::option::of(1_u64..=1000)).prop_map(|(key, count, period, burst)| {
            let bucket = Limit::token_bucket(key, count, span(period));
            burst.map_or(bucket.clone(), |burst| bucket.burst(burst)).build()
        }),
        (key, count.clone(), millis(), flag).prop_map(|(key, max, period, first)| {
            let anchor = if first { Anchor::FirstRequest } else { Anchor::Epoch };
            Limit::fixed_window(key, max, span(period)).anchor(anchor).build()
        }),
        (key, count.clone(), millis(), 1.0..50.0, flag).prop_map(|(key, max, period, part, blocked)| {
            Limit::sliding_window(key, max, span(period), span(period / part)).count_blocked(blocked).build()
        }),
        (key, count.clone(), millis())
            .prop_map(|(key, max, period)| Limit::sliding_counter(key, max, span(period)).build()),
        (key, count.clone(), millis(), millis()).prop_map(|(key, max, period, interval)| {
            Limit::sliding_log(key, max, span(period)).min_interval(span(interval)).build()
        }),
        (key, count.clone(), decimal(1.01, 40.0), millis()).prop_map(|(key, max, factor, resolution)| Limit::decay(
            key,
            max,
            factor,
            span(resolution)
        )
        .build()),
        (key, decimal(0.01, 1e4), millis(), decimal(1.0, 9.0)).prop_map(|(key, rate, warmup, cold)| {
            Limit::smooth(key, rate).warmup(span(warmup)).cold_factor(cold).build()
        }),
        (key, count, millis(), millis()).prop_map(|(key, max, duration, interval)| {
            let legacy = Limit::legacy(key).max(max).duration(span(duration)).min_interval(span(interval));
            legacy.translation(Translation::Exact).build()
        }),
    ]
    .prop_filter_map("numbers that do not go together", Result::ok)
}

/// JSON as TOML writes it.
fn toml(json: &serde_json::Value) -> String {
    let object = json.as_object().expect("an object");
    let fields = object.iter().map(|(name, value)| format!("{name} = {}", portable(&value.to_string())));
    format!("['a limit']\n{}\n", fields.collect::<Vec<_>>().join("\n"))
}

/// The strings of JSON may have this character as it is, those of the others may not.
fn portable(json: &str) -> String {
    json.replace('\u{7f}', "\\u007F")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_limit_is_the_same_after_any_journey(limit in any_limit()) {
        let json = limit.to_json();
        prop_assert_eq!(Limit::from_json(&json), Ok(limit.clone()));
        prop_assert_eq!(&serde_json::from_str::<Limit>(&json).expect("from serde"), &limit);
        let kind = serde_json::to_string(limit.kind()).expect("JSON");
        prop_assert_eq!(&serde_json::from_str::<Kind>(&kind).expect("from serde"), limit.kind());
        let again = Limit::from_json(&json).expect("a limit");
        prop_assert!(HashSet::from([limit.clone()]).contains(&again), "equal, but of another hash");
        let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        prop_assert_eq!(&serde_json::from_value::<Limit>(value.clone()).expect("from a tree"), &limit);
        let document = portable(&format!("{{\"a limit\": {json}}}"));
        for (text, format) in [(&document, Format::Json), (&document, Format::Yaml), (&toml(&value), Format::Toml)] {
            match Limits::from_str(text, format) {
                Ok(limits) => prop_assert_eq!(&limits["a limit"], &limit, "{:?}", format),
                Err(error) => prop_assert!(false, "{:?} {}: {}", format, text, error),
            }
        }
    }
}

/// Read a hair off, it would take another slot to drain.
#[test]
fn a_number_of_many_digits_is_read_to_its_last() {
    let literal = Limit::decay("score", 5, 1.104_089_513_673_812_3, Duration::from_secs(1)).build().expect("sound");
    let fields = r#""type": "decay", "max": 5, "decayFactor": 1.1040895136738123, "resolution": 1000"#;
    assert_eq!(Limit::from_json(&format!("{{ \"key\": \"score\", {fields} }}")), Ok(literal.clone()));
    let toml = "score = { type = 'decay', max = 5, decayFactor = 1.1040895136738123, resolution = 1000 }";
    let json = format!("{{ \"score\": {{ {fields} }} }}");
    for (text, format) in [(json.as_str(), Format::Json), (toml, Format::Toml), (&json, Format::Yaml)] {
        assert_eq!(Limits::from_str(text, format).expect("sound")["score"], literal, "{format:?}");
    }
}

#[test]
fn serde_refuses_what_the_wire_form_refuses() {
    for (json, problem) in [
        (r#"{ "key": "a", "type": "bucket", "size": 0 }"#, r#"limit "a": size must be at least 1, got 0"#),
        (r#"{ "key": "a", "type": "bucket", "size": [1] }"#, r#"limit "a": size must be a number, got an array"#),
        (
            r#"{ "key": "a", "type": "bucket", "size": 1, "size": 2 }"#,
            r#"limit "a": size is not a field of this type, got 2"#,
        ),
        (
            r#"{ "key": "a", "type": "bucket", "size": 1, "block_for": 2 }"#,
            r#"limit "a": block_for is not a field of this type (did you mean blockFor?), got 2"#,
        ),
        (r#""100/minute""#, "expected an object"),
    ] {
        let error = serde_json::from_str::<Limit>(json).expect_err(json).to_string();
        assert!(error.contains(problem), "{error}");
    }
}
