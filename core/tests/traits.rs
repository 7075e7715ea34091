//! The traits of the standard library that users expect on public types.

use std::collections::HashSet;
use std::error::Error as StdError;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::str::FromStr;
use std::time::Duration;

use tidegate::acquire::{Acquire, Step};
use tidegate::config::{Change, Fault, Format, Limits, LimitsError, Override, Watch, Watched};
use tidegate::explain::{Allowance, CallExplanation, CheckExplanation, Explanation, LegacyTranslation};
use tidegate::headers::{Draft, Policy, PolicyFields, RateLimits, Reset, Style};
use tidegate::http::{
    Body, Client, Combined, ConfigurationError, Denials, Form, Gate, GateBuilder, Mistake, Names, Refusal,
    RequestError, Syntax, TrustedProxies, Warning,
};
use tidegate::limits::{
    Anchor, Bucket, Builder, Decay, FactorScales, FixedWindow, Kind, Legacy, SlidingCounter, SlidingLog, SlidingWindow,
    Smooth, TokenBucket, Translation, Value,
};
use tidegate::{
    AnyStore, Call, Check, Error, ErrorKind, Limit, LimitError, LimitInfo, Limiter, Memory, Micros, Receipt, State,
};

fn is_shared<T: Debug + Send + Sync + Unpin>() {}
fn is_error<T: StdError + Display + Clone + Send + Sync + UnwindSafe + RefUnwindSafe + 'static>() {}
fn is_name<T: Copy + Eq + Hash + Debug + Send + Sync + 'static>() {}
fn is_cloned<T: Clone>() {}

#[test]
fn values_go_between_threads_and_into_logs() {
    is_shared::<Limit>();
    is_shared::<Limiter>();
    is_shared::<Memory>();
    is_shared::<AnyStore>();
    is_shared::<Check<'static>>();
    is_shared::<LimitInfo>();
    is_shared::<Receipt>();
    is_shared::<State>();
    is_shared::<Micros>();
    is_shared::<Acquire>();
    is_shared::<Step>();
    is_shared::<(Gate, GateBuilder, Client, Refusal, Combined<'static>)>();
    is_shared::<TrustedProxies>();
    is_shared::<(Limits, Override, Watch, Watched, Change)>();
    is_shared::<Fault>();
    is_shared::<Kind>();
    is_shared::<Value>();
    is_shared::<Builder<Bucket>>();
    is_shared::<Legacy>();
    is_shared::<(Warning, Denials, Names)>();
    is_shared::<(Explanation, Allowance, LegacyTranslation, CallExplanation, CheckExplanation)>();
    is_shared::<(Policy<'static>, PolicyFields, RateLimits)>();
    is_cloned::<(Limit, Limiter, AnyStore, Check<'static>, LimitInfo, State, Limits, Builder<Bucket>)>();
    assert_eq!(Limiter::new(Memory::default()).memory().len(), 0);
}

#[test]
fn errors_are_errors() {
    is_error::<Error>();
    is_error::<LimitError>();
    is_error::<LimitsError>();
    is_error::<ConfigurationError>();
    let error: Box<dyn StdError + Send + Sync> = Limit::bucket("login", 0).build().expect_err("no size").into();
    assert!(error.downcast_ref::<LimitError>().is_some());
    // A wrapper says what it wraps once, not twice.
    let wrapped = Error::from(Limit::bucket("login", 0).build().expect_err("no size"));
    assert_eq!((wrapped.to_string(), wrapped.source().is_none()), (error.to_string(), true));
}

#[test]
fn names_are_keys_of_maps() {
    is_name::<ErrorKind>();
    is_name::<Call>();
    is_name::<Format>();
    is_name::<Mistake>();
    is_name::<Body>();
    is_name::<Form>();
    is_name::<RequestError>();
    is_name::<Syntax>();
    is_name::<Style>();
    is_name::<Draft>();
    is_name::<Reset>();
}

#[cfg(feature = "remote")]
#[test]
fn shared_stores_are_no_exception() {
    use tidegate::StoreError;
    use tidegate::acquire::AcquireHandle;
    use tidegate::remote::backend::{Decision, EntryName, Job, Request, Session, Settings, Shape, Write};
    use tidegate::remote::{BreakerState, Event, EventKind, Failure, Health, Latency, OnError, Statistics};

    is_error::<StoreError>();
    is_name::<EventKind>();
    is_name::<Failure>();
    is_name::<OnError>();
    is_name::<BreakerState>();
    is_name::<Shape>();
    is_shared::<AcquireHandle>();
    is_shared::<Event>();
    is_shared::<Health>();
    is_shared::<Latency>();
    is_shared::<Statistics>();
    is_shared::<Decision>();
    is_shared::<Write>();
    is_shared::<EntryName<'static>>();
    is_shared::<Job>();
    is_shared::<Request>();
    is_shared::<Session>();
    is_shared::<Settings>();
    is_cloned::<(StoreError, Event, Health, Statistics, Latency, Request, Session, Settings)>();
}

#[cfg(feature = "redis")]
#[test]
fn nor_is_redis() {
    is_shared::<(tidegate::Redis, tidegate::redis::RedisBuilder)>();
    is_cloned::<tidegate::Redis>();
    is_name::<tidegate::redis::Strategy>();
    is_name::<tidegate::redis::Layout>();
}

#[test]
fn a_limit_is_a_string() {
    let same = |text: &str, limit: Limit| {
        assert_eq!(Limit::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}")), limit, "{text}");
        assert_eq!(limit.to_string().parse(), Ok(limit.clone()), "{limit}");
    };
    let text = |key: &str, text: &str| Limit::parse(key, text).expect("a limit");
    same("api: 100/minute", text("api", "100/minute"));
    same("api:100/minute", text("api", "100/minute"));
    same("  notes:create :  5/15m burst 20 ", text("notes:create", "5/15m burst 20"));
    same("daily: 1000/day fixed-window", text("daily", "1000/day fixed-window"));
    same(r#" { "key": "login", "type": "bucket", "size": 10 }"#, Limit::bucket("login", 10).build().expect("sound"));
    same(
        r#"{ "key": "a: b", "max": 5, "duration": 1000 }"#,
        Limit::from_json(r#"{ "key": "a: b", "max": 5, "duration": 1000 }"#).expect("sound"),
    );
    for (wrong, key, field) in [
        ("", "", "definition"),
        ("100/minute", "", "definition"),
        (": 100/minute", "", "key"),
        ("api:", "api", "definition"),
        ("api: 10/fortnight", "api", "definition"),
        ("api: 100/minute; 10/second", "api", "definition"),
        ("{", "", "definition"),
        (r#"{ "key": "login", "type": "bucket" }"#, "login", "size"),
        ("\0", "", "definition"),
    ] {
        let error = wrong.parse::<Limit>().expect_err(wrong);
        assert_eq!((error.key(), error.field()), (key, field), "{wrong:?}: {error}");
    }
    assert!("a".repeat(1 << 20).parse::<Limit>().expect_err("no limit").to_string().len() < 300);
    assert!(format!("{}: 1/s", "a".repeat(1 << 20)).parse::<Limit>().is_err());
}

/// The parameters of a limit, in one type of definition.
fn parameters<T: for<'de> serde::Deserialize<'de>>(limit: Result<Limit, LimitError>) -> T {
    let kind = serde_json::to_string(limit.expect("a sound limit").kind()).expect("JSON");
    serde_json::from_str(&kind).unwrap_or_else(|error| panic!("{kind}: {error}"))
}

#[test]
fn definitions_say_their_parameters() {
    let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));

    let bucket: Bucket = parameters(Limit::bucket("a", 10).drip_rate(minute).drip_size(2).build());
    assert_eq!((bucket.size(), bucket.drip_rate(), bucket.drip_size()), (10, minute, 2));
    assert_eq!(bucket.factor_scales(), FactorScales::Size);

    let tokens: TokenBucket = parameters(Limit::token_bucket("a", 100, minute).build());
    assert_eq!((tokens.count(), tokens.period(), tokens.burst()), (100, minute, None));

    let window: FixedWindow = parameters(Limit::fixed_window("a", 5, minute).anchor(Anchor::FirstRequest).build());
    assert_eq!((window.max(), window.period(), window.anchor()), (5, minute, Anchor::FirstRequest));

    let window: SlidingWindow = parameters(Limit::sliding_window("a", 5, minute, second).count_blocked(true).build());
    assert_eq!((window.max(), window.period(), window.resolution(), window.count_blocked()), (5, minute, second, true));

    let counter: SlidingCounter = parameters(Limit::sliding_counter("a", 5, minute).build());
    assert_eq!((counter.max(), counter.period()), (5, minute));

    let log: SlidingLog = parameters(Limit::sliding_log("a", 5, minute).min_interval(second).build());
    assert_eq!((log.max(), log.period(), log.min_interval(), log.count_blocked()), (5, minute, second, false));

    let decay: Decay = parameters(Limit::decay("a", 5, 2.5, second).build());
    assert_eq!((decay.max(), decay.resolution(), decay.count_blocked()), (5, second, false));
    assert!((decay.decay_factor() - 2.5).abs() < f64::EPSILON);

    let smooth: Smooth = parameters(Limit::smooth("a", 5.0).warmup(minute).build());
    assert_eq!((smooth.max_burst(), smooth.warmup()), (second, minute));
    assert!((smooth.rate() - 5.0).abs() < f64::EPSILON && (smooth.cold_factor() - 3.0).abs() < f64::EPSILON);

    let legacy: Legacy = parameters(Limit::legacy("a").max(5).duration(minute).build());
    assert_eq!((legacy.max(), legacy.duration(), legacy.min_interval()), (Some(5), Some(minute), None));
    assert_eq!((legacy.translation(), legacy.factor_scales()), (Translation::Bucket, FactorScales::Size));

    // Without a duration to be counted in, no number is too large for a definition; it is for a count.
    let legacy: Legacy = serde_json::from_str(r#"{ "max": 1e300, "duration": 0 }"#).expect("no limit");
    assert_eq!(legacy.max(), Some(u64::MAX));
    let bucket: Bucket = serde_json::from_str(r#"{ "type": "bucket", "size": 2.5, "dripRate": 1.5 }"#).expect("sound");
    assert_eq!((bucket.size(), bucket.drip_rate()), (3, Duration::from_micros(1500)));
}

#[test]
fn definitions_are_checked_when_they_are_read() {
    let kind = |json: &str| serde_json::from_str::<Kind>(json).expect_err(json).to_string();
    assert_eq!(kind(r#"{ "type": "bucket", "size": 0 }"#), "size must be at least 1, got 0");
    assert_eq!(kind(r#"{ "type": "bucket" }"#), "size must be given, got none");
    assert_eq!(kind(r#"{ "type": "bucket", "size": 1, "key": "a" }"#), r#"key is not a field of this type, got "a""#);
    assert_eq!(kind(r#"{ "type": "urn", "size": 1 }"#), r#"type must be a known type, got "urn""#);
    assert_eq!(kind(r#"{ "type": 1 }"#), "type must be a string, got 1");
    let other = |json: &str| serde_json::from_str::<Bucket>(json).expect_err(json).to_string();
    assert_eq!(other(r#"{ "type": "smooth", "rate": 1 }"#), r#"type must be "bucket", got "smooth""#);
    assert_eq!(other(r#"{ "max": 1, "duration": 1 }"#), r#"type must be "bucket", got none"#);
    let legacy = serde_json::from_str::<Legacy>(r#"{ "type": "bucket", "size": 1 }"#).expect_err("another type");
    assert_eq!(legacy.to_string(), r#"type must not be given, got "bucket""#);
    assert!(serde_json::from_str::<Anchor>(r#""noon""#).is_err());
    assert_eq!(serde_json::from_str::<Anchor>(r#""first-request""#).ok(), Some(Anchor::FirstRequest));
}

#[test]
fn definitions_are_keys_of_maps() {
    fn is_key<T: Clone + Eq + Hash + Debug + Send + Sync>() {}
    is_key::<(Limit, Kind, Bucket, TokenBucket, FixedWindow, SlidingWindow)>();
    is_key::<(SlidingCounter, SlidingLog, Decay, Smooth, Legacy)>();
    is_name::<FactorScales>();
    is_name::<Anchor>();
    is_name::<Translation>();
    // Equal numbers have one hash, whichever sign a zero has.
    let [plus, minus] = ["0", "-0.0"].map(|zero| {
        Limit::from_json(&format!(r#"{{ "key": "a", "type": "smooth", "rate": 1, "warmup": {zero} }}"#)).expect("sound")
    });
    assert_eq!(plus, minus);
    assert!(HashSet::from([plus]).contains(&minus));
}

#[test]
fn names_are_strings() {
    assert_eq!("first-request".parse(), Ok(Anchor::FirstRequest));
    assert_eq!(Anchor::FirstRequest.to_string(), "first-request");
    assert_eq!("size-and-rate".parse(), Ok(FactorScales::SizeAndRate));
    assert_eq!("exact".parse(), Ok(Translation::Exact));
    assert_eq!("yaml".parse(), Ok(Format::Yaml));
    assert_eq!("epoch".parse(), Ok(Reset::Epoch));
    assert_eq!("editors".parse(), Ok(Draft::Editors));
    assert_eq!("common".parse::<Style>().map(|style| style.reset(Reset::Epoch)), Ok(Style::Common(Reset::Epoch)));
    assert_eq!("none".parse::<Style>().map(|style| style.draft(Draft::V6)), Ok(Style::None));
    let error = "loud".parse::<Style>().expect_err("no style");
    assert_eq!(error.to_string(), r#"headers must be "x", "common", "ietf", "both" or "none", got "loud""#);
    let error = "noon".parse::<Anchor>().expect_err("no anchor");
    assert_eq!(error.to_string(), r#"anchor must be "epoch" or "first-request", got "noon""#);
}
