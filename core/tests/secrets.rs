//! Names and passwords of users stay out of everything that is shown.
#![cfg(feature = "redis")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use tidegate::limits::Value;
use tidegate::remote::OnError;
use tidegate::{Limit, Limiter, Redis};

const SCHEMES: [&str; 8] =
    ["redis", "rediss", "valkey", "unix", "redis+cluster", "redis+sentinel", "rediss+cluster", "nonsense"];

/// Begins with letters that stand nowhere else, so that it can be looked for; then anything.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof!["QZ[a-z]{0,3}[?/#@%:&=,\\[\\]+ ]{1,3}QX[a-z0-9?/#@:]{0,5}", "QZ\\PC{0,12}", "QZ[0-9?/@:]{1,8}"]
}

/// Anything between the password and the end, or nothing at all: the host may be forgotten.
fn tail() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("@host".to_owned()),
        Just("@host:6379/0".to_owned()),
        Just("@h1:1,h2:2/service/3".to_owned()),
        Just("@/run/redis.sock?db=1".to_owned()),
        Just("@".to_owned()),
        Just(String::new()),
        Just("/0".to_owned()),
        Just("@host/0?ssl_cert_reqs=never".to_owned()),
        Just("@host?timeout=3".to_owned()),
    ]
}

fn shows(text: &str, secret: &str) -> bool {
    // Any part that could be known by its letters.
    text.contains("QZ") || text.contains("QX") || text.contains(secret)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_error_and_no_form_of_a_store_shows_a_login(
        scheme in proptest::sample::select(&SCHEMES[..]),
        user in secret(),
        password in secret(),
        tail in tail(),
    ) {
        for login in [format!("{user}:{password}"), format!(":{password}"), user.clone()] {
            let url = format!("{scheme}://{login}{tail}");
            for secret in [&user, &password] {
                let builder = format!("{:?}", Redis::builder(&url));
                if tail.len() > 1 && tail.starts_with('@') {
                    prop_assert!(!shows(&builder, secret), "{}: {}", url, builder);
                }
                match Redis::open(&url) {
                    Err(error) => {
                        let shown = format!("{error} {error:?} {}", error.value());
                        prop_assert!(!shows(&shown, secret), "{}: {}", url, shown);
                    }
                    Ok(store) => {
                        let debug = format!("{store:?}");
                        // What remains where the host is forgotten may be another one: nobody can tell.
                        if tail.len() > 1 && tail.starts_with('@') {
                            prop_assert!(!shows(&debug, secret), "{}: {}", url, debug);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_given_beside_the_url_is_not_shown_either(password in secret()) {
        let option = |name: &str, value| (name.to_owned(), value);
        let limiter = Limiter::open("redis://localhost", [option("password", Value::Text(password.clone()))]);
        let debug = format!("{limiter:?}");
        prop_assert!(!shows(&debug, &password));
        for options in [
            vec![option("password", Value::Other(password.clone()))],
            vec![option("pasword", Value::Text(password.clone()))],
            vec![option("password", Value::Text(password.clone())), option("timeout", Value::Number(0.0))],
            vec![option("sentinelPassword", Value::Text(password.clone())), option("layout", Value::Bool(true))],
        ] {
            let error = Limiter::open("redis://localhost", options).expect_err("not to be had");
            let shown = format!("{error} {error:?}");
            prop_assert!(!shows(&shown, &password), "{}", shown);
        }
    }

    #[test]
    fn whatever_is_encoded_arrives(user in secret(), password in secret()) {
        let encoded = |text: &str| text.bytes().fold(String::new(), |all, byte| format!("{all}%{byte:02X}"));
        let url = format!("redis://{}:{}@localhost:7000/3", encoded(&user), encoded(&password));
        let limiter = Limiter::open(&url, []).expect("a URL");
        prop_assert_eq!(limiter.url(), "redis://…@localhost:7000/3");
    }
}

#[test]
fn a_question_mark_or_a_forgotten_host_shows_nothing() {
    for url in [
        "redis://user:S3cr3t?1@host",
        "redis://user:S3cr3t/1@host",
        "redis://user:S3cr3t#1@host",
        "redis://user:12?S3cr3t@host",
        "redis://user:12/S3cr3t@host",
        "redis://user:S3cr3t",
        "redis://:S3cr3t",
        "redis://user:S3cr3t@",
        "redis://user:S3cr3t@host?S3cr3t=1",
        "unix://user:S3cr3t",
        "rediss//user:S3cr3t@host",
        "memory://user:S3cr3t@host",
    ] {
        let error = Limiter::open(url, []).expect_err(url).to_string();
        assert!(!error.contains("S3cr3t") && !error.contains("user:"), "{error}");
    }
}

#[test]
fn events_and_store_errors_name_the_server_alone() {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let listener = heard.clone();
    let store = Redis::builder("redis://us3r:S3cr3t@127.0.0.1:1/3").timeout(Duration::from_secs(1));
    let store = store.on_error(OnError::Raise);
    let limiter = Limiter::new(
        store
            .listener(move |event| listener.lock().expect("a lock").push(format!("{event} {event:?}")))
            .build()
            .expect("a store"),
    );
    let error = limiter.limit_sync(&Limit::bucket("login", 1).build().expect("a bucket"), "ada").expect_err("nobody");
    let mut shown = heard.lock().expect("a lock").join("\n");
    assert!(shown.contains("127.0.0.1:1"), "{shown}");
    shown = format!("{shown}{error} {error:?} {limiter:?} {}", limiter.url());
    assert!(!shown.contains("S3cr3t") && !shown.contains("us3r"), "{shown}");
}

#[test]
fn an_option_of_the_url_that_is_not_known_is_named_unless_it_may_be_a_part_of_a_password() {
    for (url, name) in [
        ("redis://localhost?socket_timeout=3", "socket_timeout"),
        ("redis://app:QZsecret@localhost:6379/0?db=1&connectTimeout=3", "connectTimeout"),
        ("redis+cluster://a:1,b:2?read-from=replica", "read-from"),
        ("unix:///run/redis.sock?database=1&db=2", "database"),
    ] {
        let error = Redis::open(url).expect_err("no such option").to_string();
        assert!(error.contains(&format!("an option {name} that is not known; it may have db, ")), "{error}");
        assert!(!error.contains("QZ"), "{error}");
    }
    for url in [
        "redis://localhost?password=QZ1&QZ2=3",
        "redis://localhost?db=1&pass=QZ1&QZ2=3",
        "redis://localhost?sentinel_password=QZ1&QZ2=3",
        "redis://:QZ1QZ2@localhost?QZ2=3",
        "redis://user:12?QZ2",
        "redis://localhost?QZ 1=3",
        "redis://localhost?=QZ1",
    ] {
        let error = Redis::open(url).expect_err("no such option").to_string();
        assert!(!error.contains("QZ") && error.contains("an option that is not known"), "{url}: {error}");
    }
}
