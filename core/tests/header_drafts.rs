//! The demands of the drafts, RFC 9651 and RFC 9457 on headers and refusals, for any answers, read by parsers that are not ours.

use proptest::prelude::*;
use sfv::{BareItem, Dictionary, Item, List, ListEntry, Parser};
use tidegate::LimitInfo;
use tidegate::headers::{Draft, Header, Policy, Reset, Style, merged};
use tidegate::http::Gate;

prop_compose! {
    fn infos()(
        blocked: bool, remaining: u64, reset_ms in 1..u64::MAX, next_ms: u64, quota in 0..1_u64 << 53,
        window_ms: u64, at: u64,
    ) -> LimitInfo {
        let mut info = LimitInfo::unlimited();
        info.blocked = blocked;
        info.remaining = remaining;
        info.reset_ms = if blocked { reset_ms } else { 0 };
        info.full_reset_ms = reset_ms;
        info.next_ms = next_ms;
        info.quota = quota;
        info.window_ms = window_ms;
        info.at = at;
        info
    }
}

fn answers() -> impl Strategy<Value = Vec<(String, LimitInfo)>> {
    let key = prop_oneof!["(?s).{1,20}", "[\"\\\\;,=\r\n]{1,8}", Just("k".repeat(200))];
    prop::collection::vec((key, infos()), 1..5)
}

fn policies(answers: &[(String, LimitInfo)]) -> Vec<Policy<'_>> {
    answers.iter().map(|(key, info)| Policy::new(key, info)).collect()
}

fn field<'a>(headers: &'a [Header], name: &str) -> &'a str {
    let mut found = headers.iter().filter(|(known, _)| *known == name);
    let (_, value) = found.next().unwrap_or_else(|| panic!("no {name} in {headers:?}"));
    assert!(found.next().is_none(), "{name} twice");
    value
}

/// A non-negative integer among the parameters of an item.
fn parameter(item: &Item, name: &str) -> u64 {
    match item.params.get(name) {
        Some(BareItem::Integer(number)) => u64::try_from(i64::from(*number)).expect("not negative"),
        other => panic!("{name} is {other:?}"),
    }
}

fn items(value: &str) -> Vec<Item> {
    let list: List = Parser::new(value).parse().unwrap_or_else(|error| panic!("{value:?}: {error}"));
    let item = |entry: ListEntry| match entry {
        ListEntry::Item(item) => item,
        ListEntry::InnerList(_) => panic!("an inner list: {value}"),
    };
    list.into_iter().map(item).collect()
}

fn name(item: &Item) -> String {
    match &item.bare_item {
        BareItem::String(name) => name.as_str().to_owned(),
        other => panic!("no string: {other:?}"),
    }
}

fn number(value: &str) -> u64 {
    let item: Item = Parser::new(value).parse().unwrap_or_else(|error| panic!("{value:?}: {error}"));
    match item.bare_item {
        BareItem::Integer(number) => u64::try_from(i64::from(number)).expect("not negative"),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn named_policies(answers in answers()) {
        for (draft, available, window) in [(Draft::V11, "r", "t"), (Draft::Editors, "a", "w")] {
            let headers = merged(&policies(&answers), Style::Ietf(draft));
            let quotas = items(field(&headers, "RateLimit-Policy"));
            let states = items(field(&headers, "RateLimit"));
            prop_assert!(!quotas.is_empty() && quotas.len() == states.len());
            for (quota, state) in quotas.iter().zip(&states) {
                prop_assert_eq!(name(quota), name(state), "each state is that of a policy");
                parameter(quota, "q");
                prop_assert!(parameter(quota, "w") > 0, "a window is not empty");
                parameter(state, available);
                prop_assert!(parameter(state, window) > 0);
                prop_assert_eq!((quota.params.len(), state.params.len()), (2, 2));
            }
        }
    }

    #[test]
    fn drafts_before(answers in answers()) {
        let headers = merged(&policies(&answers), Style::Ietf(Draft::V7));
        let value = field(&headers, "RateLimit");
        let state: Dictionary = Parser::new(value).parse().unwrap_or_else(|error| panic!("{value:?}: {error}"));
        prop_assert_eq!(state.keys().map(|key| key.as_str()).collect::<Vec<_>>(), ["limit", "remaining", "reset"]);
        for headers in [&headers, &merged(&policies(&answers), Style::Ietf(Draft::V6))] {
            for policy in items(field(headers, "RateLimit-Policy")) {
                prop_assert!(matches!(policy.bare_item, BareItem::Integer(_)));
                prop_assert!(parameter(&policy, "w") > 0);
            }
        }
        let headers = merged(&policies(&answers), Style::Ietf(Draft::V6));
        for name in ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] {
            number(field(&headers, name));
        }
    }

    #[test]
    fn any_style_is_a_header(answers in answers()) {
        let policies = policies(&answers);
        for style in [
            Style::X, Style::Common(Reset::Seconds), Style::Common(Reset::Epoch), Style::Both(Draft::V11),
            Style::Both(Draft::V6), Style::Ietf(Draft::V7),
        ] {
            for (name, value) in merged(&policies, style) {
                prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
                prop_assert!(!value.is_empty() && value.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{value:?}");
            }
        }
    }

    #[test]
    fn refusals(answers in answers(), detail in prop::option::of("(?s).{0,40}"), accept in "\\PC{0,60}") {
        let policies = policies(&answers);
        let gate = Gate::builder().style(Style::Ietf(Draft::V11)).build().expect("a gate");
        let refusal = gate.refusal(&policies, &["application/problem+json"], detail.as_deref());
        let body: serde_json::Value = serde_json::from_str(&refusal.body).expect("JSON");
        prop_assert_eq!(&body["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
        prop_assert_eq!(body["status"].as_u64(), Some(u64::from(refusal.status)));
        prop_assert!(body["title"].is_string() && body["detail"].is_string());
        let known: Vec<_> = items(field(&refusal.headers, "RateLimit-Policy")).iter().map(name).collect();
        let violated = body["violated-policies"].as_array().expect("a list");
        for policy in violated {
            prop_assert!(known.iter().any(|name| policy == name), "{policy} among {known:?}");
        }
        let blocked: Vec<_> = answers.iter().filter(|(_, info)| info.blocked).collect();
        prop_assert_eq!(violated.is_empty(), blocked.is_empty());
        prop_assert_eq!(field(&refusal.headers, "Cache-Control"), "no-store");
        prop_assert_eq!(field(&refusal.headers, "Content-Type"), "application/problem+json");
        // RFC 9110 has whole seconds; the draft: not before the window of a violated policy ends.
        if let Some(longest) = blocked.iter().map(|(_, info)| info.reset_ms.div_ceil(1000)).max() {
            prop_assert_eq!(field(&refusal.headers, "Retry-After").parse(), Ok(longest));
        } else {
            prop_assert!(refusal.headers.iter().all(|(name, _)| *name != "Retry-After"));
        }

        let any = gate.refusal(&policies, &[accept], detail.as_deref());
        prop_assert!(["application/problem+json", "application/json", "text/plain; charset=utf-8"].contains(&any.media_type));
        prop_assert!(!any.body.is_empty());
    }
}
