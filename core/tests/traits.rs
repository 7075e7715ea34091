//! The traits of the standard library that users expect on public types.
#![allow(missing_docs, reason = "a test")]

use std::error::Error as StdError;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::str::FromStr;

use tidegate::acquire::{Acquire, Step};
use tidegate::config::{Fault, Format, Limits, LimitsError};
use tidegate::http::{ConfigurationError, Gate, Mistake, TrustedProxies};
use tidegate::limits::{Bucket, Builder, Kind, Legacy, Value};
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
    is_shared::<Gate>();
    is_shared::<TrustedProxies>();
    is_shared::<Limits>();
    is_shared::<Fault>();
    is_shared::<Kind>();
    is_shared::<Value>();
    is_shared::<Builder<Bucket>>();
    is_shared::<Legacy>();
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
    is_shared::<tidegate::Redis>();
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
