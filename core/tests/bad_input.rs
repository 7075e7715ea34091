//! Bad input that `refusals.rs` leaves: whatever comes in, the answer is exact or an error that names key, field and value; nothing panics, nothing is kept.

use std::time::Duration;

use tidegate::limits::Value;
use tidegate::{Call, Check, Error, ErrorKind, Limit, LimitError, Limiter, Memory, State, ffi};

/// Fields by name, with a sound value and the least that is.
type Numbers = &'static [(&'static str, f64, f64)];

/// A sound definition of each type, and its numeric fields with what they have to be above or at least.
const TYPES: [(&str, Numbers); 9] = [
    ("bucket", &[("size", 10.0, 1.0), ("dripRate", 1000.0, 1.0), ("dripSize", 2.0, 1.0)]),
    ("token-bucket", &[("count", 10.0, 1.0), ("period", 1000.0, ABOVE_0), ("burst", 20.0, 1.0)]),
    ("fixed-window", &[("max", 10.0, 1.0), ("period", 1000.0, ABOVE_0)]),
    ("sliding-window", &[("max", 10.0, 1.0), ("period", 1000.0, ABOVE_0), ("resolution", 100.0, ABOVE_0)]),
    ("sliding-counter", &[("max", 10.0, 1.0), ("period", 1000.0, ABOVE_0)]),
    ("sliding-log", &[("max", 10.0, 1.0), ("period", 1000.0, ABOVE_0), ("minInterval", 10.0, 0.0)]),
    ("decay", &[("max", 10.0, 1.0), ("decayFactor", 2.0, ABOVE_1), ("resolution", 1000.0, ABOVE_0)]),
    ("smooth", &[("rate", 5.0, ABOVE_0), ("maxBurst", 1000.0, 0.0), ("warmup", 3000.0, 0.0), ("coldFactor", 3.0, 1.0)]),
    ("legacy", &[("max", 10.0, 1.0), ("duration", 1000.0, 0.0), ("minInterval", 100.0, 0.0)]),
];
const ABOVE_0: f64 = f64::from_bits(1);
const ABOVE_1: f64 = 1.0 + f64::EPSILON;
const TWO_53: f64 = 9_007_199_254_740_992.0;

/// The definition's fields, one of them replaced.
fn fields(kind: &str, numbers: Numbers, replaced: &str, value: &Value) -> Vec<(String, Value)> {
    let mut fields = vec![("key".to_owned(), Value::Text("k".to_owned()))];
    if kind != "legacy" {
        fields.push(("type".to_owned(), Value::Text(kind.to_owned())));
    }
    for (name, number, _) in numbers {
        let value = if *name == replaced { value.clone() } else { Value::Number(*number) };
        fields.push(((*name).to_owned(), value));
    }
    fields
}

fn each_field(mut test: impl FnMut(&str, Numbers, &str, f64)) {
    for (kind, numbers) in TYPES {
        for (field, _, least) in numbers {
            test(kind, numbers, field, *least);
        }
    }
}

#[track_caller]
fn assert_names(error: &LimitError, key: &str, field: &str, value: &str) {
    assert_eq!((error.key(), error.field()), (key, field), "{error}");
    assert!(error.value().contains(value), "{error} names {value}");
    let text = error.to_string();
    assert!([key, field, value].iter().all(|part| text.contains(part)), "{text}");
}

/// The values that JSON can hold.
fn json(fields: &[(String, Value)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name:?}: {value}")).collect();
    format!("{{ {} }}", fields.join(", "))
}

#[test]
fn every_number_far_too_large_is_refused_or_answers_soundly() {
    each_field(|kind, numbers, field, _| {
        for large in [1e12 + 1.0, TWO_53 - 1.0, TWO_53, TWO_53 * 1024.0, 1e300, f64::MAX] {
            match Limit::from_fields(fields(kind, numbers, field, &Value::Number(large))) {
                Err(error) => assert_eq!(error.key(), "k", "{error}"),
                Ok(limit) => {
                    let (limiter, now) = (Limiter::new(Memory::new()), 1_750_000_000_000_000);
                    for call in [Call::Limit, Call::Peek, Call::Charge, Call::Limit, Call::Refund] {
                        let info = limiter.decide_sync_at(&[Check::new(&limit, "a")], call, now);
                        let in_range = |info: tidegate::LimitInfo| (info.full_reset_ms as f64) < TWO_53;
                        // A charge may be more than can be kept exactly; then it is refused, by name.
                        match info {
                            Ok(info) => assert!(in_range(info), "{kind} {field} {large}"),
                            Err(Error::Limit(error)) => assert_names(&error, "k", "cost", "1"),
                            Err(other) => panic!("{other}"),
                        }
                    }
                }
            }
        }
    });
}

#[test]
fn a_field_that_is_given_twice_is_named() {
    for (kind, numbers) in TYPES {
        let good = fields(kind, numbers, "", &Value::Null);
        Limit::from_fields(good.clone()).expect("a sound definition");
        let twice = json(&good).replacen("k\",", "k\", \"key\": \"other\",", 1);
        assert_eq!(Limit::from_json(&twice).expect_err(&twice).field(), "key");
        for (repeated, value) in good.clone().into_iter().filter(|(name, _)| name != "key") {
            let mut more = good.clone();
            more.push((repeated.clone(), value.clone()));
            assert_eq!(Limit::from_fields(more.clone()).expect_err(&repeated).field(), repeated);
            assert_eq!(Limit::from_json(&json(&more)).expect_err(&repeated).field(), repeated);
        }
    }
}

#[test]
fn text_that_is_no_definition_is_refused() {
    let deep = "[".repeat(100_000);
    for text in ["", "null", "[]", "5", "{", r#"{"key": "k", "size": 1e999}"#, "\u{0}", "{\"key\": \"k\u{0}\"}", &deep]
    {
        let error = Limit::from_json(text).expect_err(text);
        assert_eq!((error.kind(), error.field()), (ErrorKind::Type, "definition"), "{error}");
        assert!(error.to_string().len() < 400);
    }
}

#[test]
fn a_key_is_any_text_of_1_byte_to_64_kib() {
    let (most, over, large) = ("k".repeat(65_536), "k".repeat(65_537), "é".repeat(40_000));
    for key in ["", &over, &large] {
        let built = Limit::bucket(key, 1).build();
        let parsed = Limit::from_fields([
            ("key".to_owned(), Value::Text(key.to_owned())),
            ("type".to_owned(), Value::Text("bucket".to_owned())),
            ("size".to_owned(), Value::Number(1.0)),
        ]);
        for error in [built.expect_err("a bad key"), parsed.expect_err("a bad key")] {
            assert_eq!(error.field(), "key", "{error}");
            assert!(error.to_string().len() < 400);
            assert!(!error.to_string().chars().any(char::is_control), "{error:?}");
        }
    }
    for key in
        ["k", " ", "notes/create", "\"quoted\\\"", "~", "\0", "a\r\nb", "/files/clé", "🔑", "\u{7f}", "\u{200b}", &most]
    {
        assert_eq!(Limit::bucket(key, 1).build().expect("a good key").key(), key);
    }
}

#[test]
fn an_actor_is_any_text_of_up_to_64_kib() {
    let (limiter, limit) = (Limiter::new(Memory::new()), Limit::bucket("k", 1).build().expect("a bucket"));
    let (large, larger) = ("a".repeat((1 << 16) - 1), "a".repeat(1 << 16));
    let actors = ["", "\0", "\0\0", "a\0", "a", "🦀", "clé", "cle\u{301}", "a:b", "{a}", "%00", &large, &larger];
    for actor in actors {
        assert!(!limiter.limit_sync(&limit, actor).expect("an answer").blocked, "{} bytes", actor.len());
    }
    for actor in actors {
        assert!(limiter.limit_sync(&limit, actor).expect("an answer").blocked, "{} bytes", actor.len());
    }
    assert_eq!(limiter.memory().len(), actors.len());
}

#[test]
fn builders_check_as_the_wire_form_does() {
    let second = Duration::from_secs(1);
    let cases = [
        (Limit::bucket("k", 0).build(), "size", "0"),
        (Limit::bucket("k", u64::MAX).build(), "size", "18446744073709"),
        (Limit::bucket("k", 1).drip_rate(Duration::ZERO).build(), "dripRate", "0"),
        (Limit::bucket("k", 1).drip_rate(Duration::MAX).build(), "dripRate", "1.8446744073709552e22"),
        (Limit::bucket("k", 1).drip_size(0).build(), "dripSize", "0"),
        (Limit::token_bucket("k", 0, second).build(), "count", "0"),
        (Limit::token_bucket("k", 1, Duration::ZERO).build(), "period", "0"),
        (Limit::token_bucket("k", 1, second).burst(0).build(), "burst", "0"),
        (Limit::fixed_window("k", 1, Duration::MAX).build(), "period", "1.8446744073709552e22"),
        (Limit::sliding_window("k", 1, second, second * 2).build(), "resolution", "2000"),
        (
            Limit::sliding_counter("k", 1_000_000_000_000, Duration::from_micros(86_399_999_999)).build(),
            "max",
            "1000000000000",
        ),
        (Limit::sliding_log("k", 0, second).build(), "max", "0"),
        (Limit::decay("k", 1, 1.0, second).build(), "decayFactor", "1"),
        (Limit::decay("k", 1, f64::NAN, second).build(), "decayFactor", "NaN"),
        (Limit::smooth("k", f64::NAN).build(), "rate", "NaN"),
        (Limit::smooth("k", -1.0).build(), "rate", "-1"),
        (Limit::smooth("k", 0.0).build(), "rate", "0"),
        (Limit::smooth("k", 1e-300).build(), "rate", "1e-300"),
        (Limit::smooth("k", 1.0).cold_factor(0.5).build(), "coldFactor", "0.5"),
        (Limit::legacy("k").max(5).build(), "duration", "5"),
        (Limit::legacy("k").duration(second).build(), "max", "1000"),
        (Limit::legacy("k").max(0).duration(second).build(), "max", "0"),
    ];
    for (built, field, value) in cases {
        assert_names(&built.expect_err(field), "k", field, value);
    }
}

#[test]
fn fractions_round_up_where_a_count_has_to_be_whole() {
    for (kind, field) in
        [("bucket", "size"), ("token-bucket", "burst"), ("fixed-window", "max"), ("sliding-log", "max")]
    {
        let (_, numbers) = TYPES.into_iter().find(|(name, _)| *name == kind).expect("a type");
        let limit = Limit::from_fields(fields(kind, numbers, field, &Value::Number(2.1))).expect("a fraction");
        let (info, _) = limit.decide(State::default(), 1_000_000, Call::Peek).expect("an answer");
        assert_eq!((info.remaining, info.quota), (3, 3), "{kind}");
    }
}

#[test]
fn costs_factors_and_times_that_cannot_be_store_nothing() {
    let (limiter, limit) = (Limiter::new(Memory::new()), Limit::bucket("k", 10).build().expect("a bucket"));
    let calls = [Call::Limit, Call::Peek, Call::Charge, Call::Refund, Call::Acquire { max_wait: Duration::MAX }];
    let decide = |check: Check<'_>, call, now| match limiter.decide_sync_at(&[check], call, now) {
        Err(Error::Limit(error)) => error,
        other => panic!("{other:?}"),
    };
    let check = Check::new(&limit, "ada");
    for call in calls {
        for (factor, shown) in
            [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-1.0, "-1"), (-1e-300, "-1e-300"), (1e-300, "1e-300")]
        {
            assert_names(&decide(check.factor(factor), call, 1), "k", "factor", shown);
        }
        assert_names(&decide(check, call, 1 << 53), "k", "now", "9007199254740992");
        assert_names(&decide(check, call, u64::MAX), "k", "now", "18446744073709551615");
        for cost in [(1 << 53) + 1, u64::MAX] {
            assert_names(&decide(check.cost(cost), call, 1), "k", "cost", &cost.to_string());
        }
        if !matches!(call, Call::Charge | Call::Refund) {
            assert_names(&decide(check.cost(11), call, 1), "k", "cost", "11");
        }
    }
    assert_names(&decide(check.cost(1 << 53), Call::Charge, 1), "k", "cost", "9007199254740992");
    let several = [check, check.cost(10), check.factor(f64::NAN)];
    assert!(limiter.decide_sync(&several, Call::Limit).is_err());
    assert!(limiter.decide_sync(&several[..2], Call::Limit).is_err(), "eleven never fit into ten");
    assert!(limiter.memory().is_empty());
    assert_eq!(limiter.peek_sync(&limit, "ada").expect("an answer").remaining, 10);
    // No limit is no error, and no entry either.
    assert_eq!(
        limiter.decide_sync(&[check.factor(0.0).cost(1 << 52)], Call::Limit).expect("no limit").remaining,
        (1 << 53) - 1
    );
    assert!(limiter.memory().is_empty());
}

#[test]
fn a_level_never_leaves_the_range_in_which_it_is_exact() {
    for (kind, numbers) in TYPES {
        let limit = Limit::from_fields(fields(kind, numbers, "", &Value::Null)).expect("a sound definition");
        let (limiter, now) = (Limiter::new(Memory::new()), 1_750_000_000_000_000);
        let mut refused = 0;
        for _ in 0..40 {
            match limiter.decide_sync_at(&[Check::new(&limit, "ada").cost(1 << 48)], Call::Charge, now) {
                Ok(info) => assert!(info.full_reset_ms as f64 <= TWO_53 / 1000.0 + 1.0, "{kind}"),
                Err(Error::Limit(error)) => {
                    refused += 1;
                    assert_names(&error, "k", "cost", &(1_u64 << 48).to_string());
                }
                Err(other) => panic!("{other}"),
            }
        }
        // A log forgets what is more than it can hold, so that no charge is too much for it.
        assert!(refused > 0 || kind == "sliding-log", "{kind}");
    }
}

#[test]
fn numbers_of_a_host_language_are_checked_alike() {
    for (bad, shown) in
        [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-1.0, "-1"), (0.5, "0.5"), (TWO_53 * 2.0, "18014398509481984")]
    {
        assert_names(&ffi::cost("k", bad).expect_err("a bad cost"), "k", "cost", shown);
    }
    assert_eq!((ffi::cost("k", 0.0), ffi::cost("k", -0.0), ffi::cost("k", TWO_53)), (Ok(0), Ok(0), Ok(1 << 53)));
    for (bad, shown) in [
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-inf"),
        (-0.001, "-0.001"),
        (1e300, "1e300"),
        (1e20, "100000000000000000000"),
        (TWO_53, "9007199254740992"),
    ] {
        assert_names(&ffi::instant("k", bad).expect_err("a bad time"), "k", "now", shown);
        assert_names(&ffi::max_wait("k", bad).expect_err("a bad wait"), "k", "maxWait", shown);
    }
    assert_eq!(ffi::instant("k", 1_743_589_620_681.617), Ok(1_743_589_620_681_617));
    assert_eq!(ffi::max_wait("k", 0.5), Ok(Duration::from_micros(500)));
}
