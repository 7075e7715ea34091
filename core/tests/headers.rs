//! The IETF's fields: any key goes into them, and no key gets out.

use proptest::prelude::*;
use sfv::{BareItem, FieldType as _, List, ListEntry, Parser};
use tidegate::headers::{Draft, Policy, ietf};
use tidegate::{Call, Limit, LimitInfo, State};

fn answer(key: &str) -> (Limit, LimitInfo) {
    let limit = Limit::bucket(key, 10).build().expect("any key");
    let (info, _) = limit.decide(State::default(), 0, Call::Limit).expect("decided");
    (limit, info)
}

/// The names of the policies in both fields, which must be structured fields.
fn names(keys: &[&str]) -> Vec<String> {
    let answers: Vec<_> = keys.iter().map(|key| answer(key)).collect();
    let policies: Vec<_> = answers.iter().map(|(limit, info)| Policy::new(limit.key(), info)).collect();
    let [policy, state] = &ietf(&policies, 0, Draft::V11)[..] else { panic!("two fields") };
    let [policy, state] = [policy, state].map(|(_, value)| {
        assert!(value.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{value:?}");
        let list: List = Parser::new(value).parse().unwrap_or_else(|error| panic!("{value:?}: {error}"));
        assert_eq!(list.serialize().as_ref(), Some(value), "written as RFC 9651 writes it");
        list
    });
    assert_eq!((policy.len(), state.len()), (keys.len(), keys.len()));
    policy
        .iter()
        .zip(&state)
        .map(|entries| match entries {
            (ListEntry::Item(policy), ListEntry::Item(state)) => {
                assert_eq!((policy.params.len(), state.params.len()), (2, 2));
                match (&policy.bare_item, &state.bare_item) {
                    (BareItem::String(policy), BareItem::String(state)) if policy == state => {
                        policy.as_str().to_owned()
                    }
                    other => panic!("names that differ: {other:?}"),
                }
            }
            other => panic!("no items: {other:?}"),
        })
        .collect()
}

#[test]
fn what_a_string_cannot_hold_is_percent_encoded() {
    for (key, name) in [
        ("login", "login"),
        ("/files/a \"b\" \\ c%20", "/files/a \"b\" \\ c%20"),
        ("/files/naïve", "/files/na%C3%AFve"),
        ("🔑", "%F0%9F%94%91"),
        ("a\r\nSet-Cookie: b\0\u{7f}\t", "a%0D%0ASet-Cookie: b%00%7F%09"),
    ] {
        assert_eq!(names(&[key]), [name]);
    }
}

#[test]
fn a_long_key_is_cut() {
    let (most, over) = ("k".repeat(128), "k".repeat(129));
    assert_eq!(names(&[&most, &over]), [most.clone(), format!("{}~", "k".repeat(127))]);
    assert_eq!(names(&[&"é".repeat(128)]), ["%C3%A9".repeat(128)]);
    assert_eq!(names(&[&"é".repeat(32_768)]), [format!("{}~", "%C3%A9".repeat(127))]);
}

proptest! {
    #[test]
    fn no_key_gets_out_of_its_string(keys in prop::collection::vec("(?s).{1,200}", 1..4)) {
        let keys: Vec<_> = keys.iter().map(String::as_str).collect();
        for (key, name) in keys.iter().zip(names(&keys)) {
            prop_assert!(name.chars().count() <= 128 * 12 + 1);
            prop_assert_eq!(key.chars().count() > 128, name.ends_with('~') && !key.ends_with('~') || key.chars().count() > 128);
        }
    }

    #[test]
    fn nor_one_that_is_made_for_it(parts in prop::collection::vec(prop::sample::select(vec![
        "\"", "\\", "\r\n", "\n", "\0", ";q=1", ", \"other\"", "%0D%0A", "~", "\u{85}", "\u{2028}", "é", "a",
    ]), 1..40)) {
        let key = parts.concat();
        let [name] = &names(&[&key])[..] else { panic!("one name") };
        let plain = key.chars().all(|c| matches!(c, ' '..='~')) && key.chars().count() <= 128;
        prop_assert!(!plain || *name == key, "what a string can hold stays as it is");
    }
}
