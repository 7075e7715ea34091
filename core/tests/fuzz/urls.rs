//! URLs of stores.

use proptest::prelude::*;
use tidegate::{Limiter, Redis};

use crate::mutate::{fuzz, mutated_text};

const SEEDS: &[&str] = &[
    "redis://localhost:6379/0",
    "redis://ada:s%33cret@[2001:db8::1]:7000/3?protocol=3",
    "rediss://:pass@cache.example.com/2?ssl_cert_reqs=none",
    "unix:///run/redis.sock?db=1",
    "unix://ada:pass@/run/redis.sock",
    "redis+cluster://a:1,b:2,[::1]:3",
    "valkeys+sentinel://ada:pass@a,b:26379/primary/1?sentinel_username=bob&sentinel_password=c",
];

const TOKENS: &[&str] = &[
    "redis",
    "rediss",
    "valkey",
    "unix",
    "memory",
    "+",
    "cluster",
    "sentinel",
    "://",
    ":",
    "/",
    "//",
    "?",
    "&",
    "=",
    "#",
    "@",
    "%",
    "%00",
    "%ff",
    "%2F",
    "[",
    "]",
    ",",
    "0",
    "-1",
    "65535",
    "65536",
    "99999999999999999999",
    "0.0.0.0",
    "::",
    "db",
    "db=1",
    "username=a",
    "password=b",
    "protocol=2",
    "protocol=4",
    "ssl_cert_reqs=required",
    "xn--e1afmkfd",
    "é",
    "\u{0}",
    " ",
    "\n",
];

#[test]
fn urls() {
    fuzz(6000, mutated_text(SEEDS, TOKENS), |url| {
        match Redis::open(&url) {
            Ok(store) => {
                let shown = format!("{store:?}");
                prop_assert!(!shown.is_empty());
            }
            Err(error) => {
                let shown = error.to_string();
                prop_assert!(shown.contains("url") && shown.len() < 1000, "{}", shown);
            }
        }
        Ok(())
    });
}

/// A form that is shown names the same servers when it is read again.
#[test]
fn a_url_that_is_shown_can_be_read() {
    fuzz(500, mutated_text(SEEDS, TOKENS), |url| {
        let plain = !url.contains(['@', '%', '?']) && !url.starts_with("memory");
        let Ok(limiter) = (if plain { Limiter::open(&url, []) } else { return Ok(()) }) else { return Ok(()) };
        let shown = limiter.url();
        prop_assert_eq!(Limiter::open(&shown, []).map(|limiter| limiter.url()).ok(), Some(shown));
        Ok(())
    });
}
