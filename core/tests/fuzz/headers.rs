//! Headers: of responses that speak of rate limits, and of requests that came through proxies.

use std::net::IpAddr;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sfv::{BareItem, ListEntry, Parser};
use tidegate::headers::parse;
use tidegate::http::{Form, Gate, TrustedProxies};

use crate::mutate::{fuzz, mutated, mutated_text};

const NAMES: &[&str] = &[
    "RateLimit",
    "RateLimit-Policy",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "X-RateLimit-Limit",
    "x-ratelimit-remaining",
    "X-RateLimit-Reset",
    "X-RateLimit-Reset-After",
    "X-RateLimit-Clear",
    "Retry-After",
    "Retry-After-Ms",
    "Date",
    "X-Other",
];

const VALUES: &[&str] = &[
    r#""burst";r=0;t=17, "daily";r=640;t=87"#,
    r#""burst";q=100;w=60;qu="content-bytes";pk=:YWRh:, "daily";q=1000;w=86400"#,
    r#""login";a=9;w=1;c=2"#,
    "limit=100, remaining=50, reset=30",
    "100, 100;w=60, 1000;w=3600",
    "17",
    "1700000000",
    "1700000000123",
    "0.25",
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
];

const TOKENS: &[&str] = &[
    "\"",
    "\\",
    "\\\"",
    ":",
    ";",
    ",",
    "=",
    " ",
    "\t",
    "(",
    ")",
    "?1",
    "*",
    "@1",
    "%\"",
    "-1",
    "0",
    "1.5",
    "999999999999999",
    "18446744073709551615",
    "18446744073709551616",
    "1e9",
    "nan",
    "q",
    "w",
    "r",
    "t",
    "limit",
    "é",
    "\u{7f}",
];

#[test]
fn headers_of_responses() {
    let headers = vec((select(NAMES), mutated_text(VALUES, TOKENS)), 0..5);
    let now = prop_oneof![Just(None), Just(Some(0)), Just(Some(1_700_000_000_000_000)), any::<u64>().prop_map(Some)];
    fuzz(3000, (headers, now), |(headers, now)| {
        let pairs = || headers.iter().map(|(name, value)| (*name, value.as_str()));
        let limits = parse(pairs(), now);
        let bytes: usize = headers.iter().map(|(_, value)| value.len()).sum();
        prop_assert!(limits.policies.len() <= bytes);
        // Fields of others change nothing, wherever they stand.
        let with_others = pairs().flat_map(|pair| [("X-Other", "1"), pair, ("Content-Length", "17")]);
        prop_assert_eq!(parse(with_others, now), limits);
        Ok(())
    });
}

/// A list of names with numbers that a strict parser reads is read by the lenient one too.
#[test]
fn a_field_in_the_strict_form_is_read_as_a_strict_parser_does() {
    fuzz(3000, mutated_text(&VALUES[..3], TOKENS), |value| {
        // Of longer fields the rest is not read.
        if value.matches([';', ',']).count() > 128 {
            return Ok(());
        }
        let Ok(list) = Parser::new(&value).parse::<sfv::List>() else { return Ok(()) };
        let strict: Option<Vec<_>> = list
            .iter()
            .map(|entry| {
                let ListEntry::Item(item) = entry else { return None };
                let BareItem::String(name) = &item.bare_item else { return None };
                let number = |key: &str| match item.params.get(key) {
                    // Less than nothing is nothing.
                    Some(BareItem::Integer(number)) => Some(Some(u64::try_from(*number).unwrap_or(0))),
                    Some(_) => None,
                    None => Some(None),
                };
                Some((name.as_str().to_owned(), number("q")?, number("c")?))
            })
            .collect();
        let Some(strict) = strict else { return Ok(()) };
        let limits = parse([("RateLimit", value.as_str())], None);
        let read: Vec<_> = limits
            .policies
            .iter()
            .map(|policy| (policy.name.clone().unwrap_or_default(), policy.quota, policy.cost))
            .collect();
        prop_assert_eq!(read, strict);
        Ok(())
    });
}

const FORWARDED: &[&str] = &[
    "203.0.113.9",
    "203.0.113.9, 10.0.0.2",
    "\"[2001:db8::1]:4711\", 198.51.100.1:80",
    "for=192.0.2.60;proto=http;by=203.0.113.43",
    "for=\"[2001:db8:cafe::17]:4711\", for=unknown, For=_hidden;host=\"a\\\"b\"",
    "fe80::1%eth0",
    "::ffff:203.0.113.9",
];

const MARKS: &[&str] = &[
    ",", ";", "=", "\"", "\\", "[", "]", ":", "::", "%", "for=", "For", "unknown", "_x", "0", "255", "256", "1.2.3.4",
    "10.0.0.1", "::1", " ", "\t", "\u{0}", "é",
];

#[test]
fn headers_of_proxies() {
    let lines = vec(mutated(FORWARDED, MARKS), 0..4);
    fuzz(3000, (lines, any::<bool>()), |(mut lines, forwarded)| {
        let name = if forwarded { "Forwarded" } else { "X-Forwarded-For" };
        let gate = |proxies| {
            Gate::builder().trusted_proxies(proxies).forwarded_header(name).ipv6_prefix(128).build().expect("a gate")
        };
        let hops = |hops| TrustedProxies::hops(hops).expect("few");
        for proxies in [TrustedProxies::none(), hops(1), hops(3), TrustedProxies::everything()] {
            let found = gate(proxies).client(Some("10.0.0.1"), &lines).expect("the peer's at least");
            let address = found.actor.strip_prefix("ip:").unwrap_or_default();
            prop_assert!(address.parse::<IpAddr>().is_ok(), "{}", found.actor);
        }
        // A line that the one trusted proxy has added says it, whatever a client sent in others.
        lines.push(if forwarded { "for=192.0.2.60" } else { "192.0.2.60" }.into());
        let found = gate(hops(1)).client(Some("10.0.0.1"), &lines).expect("an address");
        prop_assert_eq!(found.actor, "ip:192.0.2.60");
        Ok(())
    });
}

const ACCEPT: &[&str] = &[
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "application/json, text/plain, */*",
    "application/problem+json;q=1.000, application/*;q=0.5",
];

const RANGES: &[&str] = &[
    "*",
    "/",
    "*/*",
    ";",
    "q=",
    "Q=0",
    "q=0.001",
    "q=1.0001",
    "text",
    "json",
    "application/json",
    ",",
    " ",
    "\"",
    "=",
    "é",
];

#[test]
fn headers_of_requests() {
    fuzz(3000, vec(mutated(ACCEPT, RANGES), 0..3), |lines| {
        let form = Form::preferred(&lines);
        // One line or several say the same, unless a range is longer than what is read.
        let joined = lines.join(&b","[..]);
        if joined.len() < 4096 {
            prop_assert_eq!(Form::preferred(&[joined]), form);
        }
        Ok(())
    });
}
