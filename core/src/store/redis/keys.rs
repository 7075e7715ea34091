//! Names of entries in a keyspace that is shared with others.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::shape::Shape;

/// The name of an entry, `{namespace}:{actor}:{key}` with braces around the actor: the hash tag by which a cluster
/// keeps all entries of one actor together. For shapes other than the level a suffix follows.
///
/// Two different triples never share a name, and no part can break out of its place: what would is percent-encoded.
/// A percent sign that no two hexadecimal digits follow marks what no part can say of itself.
pub(crate) type Key = Arc<[u8]>;

/// The longest that a part may be once it is encoded.
const LONGEST_PART: usize = 200;

/// A cluster has this many slots.
const SLOTS: u16 = 16_384;

/// The name of an entry of this shape.
pub(crate) fn key(namespace: &str, actor: &str, limit: &str, shape: Shape) -> Key {
    let suffix = match shape {
        Shape::Level => "",
        Shape::Interval => "~interval",
        Shape::Slots => "~slots",
        Shape::Counter => "~counter",
        Shape::Log => "~log",
        Shape::Decay => "~decay",
        Shape::Smooth => "~smooth",
    };
    name(namespace, actor, limit, suffix)
}

/// A key in this slot, or in any, that is no entry's.
pub(crate) fn mark(namespace: &str, slot: Option<u16>) -> Key {
    let tagged = |tag: u32| name(namespace, &tag.to_string(), "", "%w");
    let is_there = |key: &Key| slot.is_none_or(|wanted| self::slot(key) == wanted);
    // About as many are looked at as there are slots.
    (0..=u32::MAX).map(tagged).find(is_there).unwrap_or_else(|| tagged(0))
}

/// The common prefix of the two keys of an entry in Sharkey's layout. Nothing is encoded there: other programs have to
/// find the same keys.
pub(crate) fn pair(namespace: &str, actor: &str, limit: &str) -> Key {
    let separator = if namespace.is_empty() { "" } else { ":" };
    format!("{namespace}{separator}rl_{actor}_{limit}_").into_bytes().into()
}

/// The keys of how much is in a bucket, and since when.
pub(crate) fn both(pair: &Key) -> [Key; 2] {
    [b'c', b't'].map(|last| pair.iter().copied().chain([last]).collect())
}

fn name(namespace: &str, actor: &str, limit: &str, mark: &str) -> Key {
    let mut name = String::with_capacity(namespace.len() + actor.len() + limit.len() + mark.len() + 4);
    encode(&mut name, namespace);
    name.push_str(":{");
    encode(&mut name, actor);
    name.push_str("}:");
    encode(&mut name, limit);
    name.push_str(mark);
    name.into_bytes().into()
}

fn encode(name: &mut String, part: &str) {
    let start = name.len();
    if part.is_empty() {
        // Empty braces would be no hash tag.
        name.push('%');
    }
    for c in part.chars() {
        if matches!(c, '%' | ':' | '~' | '{' | '}' | '\0'..='\x1f' | '\x7f') {
            hexadecimal(name, &[u8::try_from(c).unwrap_or_default()], "%");
        } else {
            name.push(c);
        }
        if name.len() - start > LONGEST_PART {
            name.truncate(start);
            name.push_str("%sha256-");
            hexadecimal(name, &Sha256::digest(part), "");
            return;
        }
    }
}

fn hexadecimal(name: &mut String, bytes: &[u8], before_each: &str) {
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(name, "{before_each}{byte:02x}");
    }
}

/// The slot of a cluster that a key belongs to: the checksum of what is between its first braces, or else of all of it.
pub(crate) fn slot(key: &[u8]) -> u16 {
    let position = |bytes: &[u8], of: u8| bytes.iter().position(|byte| *byte == of);
    let tag = position(key, b'{').and_then(|open| {
        let inside = &key[open + 1..];
        position(inside, b'}').filter(|close| *close > 0).map(|close| &inside[..close])
    });
    checksum(tag.unwrap_or(key)) % SLOTS
}

/// CRC-16/XMODEM.
fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        let sum = sum ^ (u16::from(*byte) << 8);
        (0..8).fold(sum, |sum: u16, _| if sum & 0x8000 == 0 { sum << 1 } else { (sum << 1) ^ 0x1021 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn text(key: &Key) -> String {
        String::from_utf8(key.to_vec()).expect("text stays text")
    }

    #[test]
    fn a_mark_is_in_its_slot_and_no_entry() {
        for wanted in [0, 1, 9_999, SLOTS - 1] {
            assert_eq!(slot(&mark("shop", Some(wanted))), wanted);
        }
        assert_eq!(text(&mark("shop", None)), "shop:{0}:%%w");
        assert_ne!(mark("shop", None), key("shop", "0", "", Shape::Level));
    }

    #[test]
    fn reads_as_what_it_is() {
        let level = |namespace, actor, limit| text(&key(namespace, actor, limit, Shape::Level));
        assert_eq!(level("tidegate", "203.0.113.9", "login"), "tidegate:{203.0.113.9}:login");
        assert_eq!(level("a:b", "{x}", "50%~log"), "a%3ab:{%7bx%7d}:50%25%7elog");
        assert_eq!(level("", "", "k"), "%:{%}:k");
        assert_eq!(level("n", "Ægir\n\x7f", "k"), "n:{Ægir%0a%7f}:k");
        let names = Shape::ALL.map(|shape| text(&key("n", "ada", "k", shape)));
        let suffixes = ["", "~interval", "~slots", "~counter", "~log", "~decay", "~smooth"];
        assert_eq!(names, suffixes.map(|suffix| format!("n:{{ada}}:k{suffix}")));
    }

    #[test]
    fn is_found_by_others() {
        let names = |namespace| both(&pair(namespace, "203.0.113.9", "/api/notes")).map(|key| text(&key));
        assert_eq!(names(""), ["rl_203.0.113.9_/api/notes_c", "rl_203.0.113.9_/api/notes_t"]);
        assert_eq!(names("example.com")[0], "example.com:rl_203.0.113.9_/api/notes_c");
    }

    #[test]
    fn stays_short_whatever_the_actor() {
        let long = "a".repeat(200);
        assert_eq!(text(&key("n", &long, "k", Shape::Level)), format!("n:{{{long}}}:k"));
        let digest = text(&key("n", &"a".repeat(201), "k", Shape::Level));
        assert_eq!(digest.len(), "n:{%sha256-}:k".len() + 64);
        // Printed by `printf 'a%.0s' $(seq 201) | sha256sum`.
        assert!(digest.contains("a92efd82109373e58f9a2056dee01e807e216ce6075f7051207c0a9f7d666e50"), "{digest}");
    }

    fn part() -> impl Strategy<Value = String> {
        prop_oneof!["[ab:{}%2~]{0,4}", "[~log]{0,5}", "[ab%25]{0,6}", any::<String>(), "[a:]{195,210}"]
    }

    proptest! {
        #[test]
        fn different_triples_have_different_names(
            (a, b) in (select(Shape::ALL.to_vec()), (part(), part(), part())),
            (c, d) in (select(Shape::ALL.to_vec()), (part(), part(), part())),
        ) {
            let name = |shape, (namespace, actor, limit): &(String, String, String)| key(namespace, actor, limit, shape);
            prop_assert_eq!((a, &b) == (c, &d), name(a, &b) == name(c, &d));
        }

        #[test]
        fn there_is_one_tag_and_it_is_the_actor(namespace in part(), actor in part(), limit in part()) {
            let name = text(&key(&namespace, &actor, &limit, Shape::Level));
            prop_assert_eq!((name.matches('{').count(), name.matches('}').count()), (1, 1));
            let (before, rest) = name.split_once(":{").expect("a tag");
            let (tag, after) = rest.split_once("}:").expect("its end");
            prop_assert!(!tag.is_empty() && !before.contains(':') && !after.contains(':'));
            prop_assert_eq!(slot(name.as_bytes()), checksum(tag.as_bytes()) % SLOTS);
            prop_assert!(name.len() <= 3 * LONGEST_PART + 4);
            prop_assert!(!name.chars().any(|c| c.is_ascii_control()));
        }
    }
}
