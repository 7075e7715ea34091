//! Names of entries in a keyspace that is shared with others.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::algorithm::Shape;
use sha2::{Digest as _, Sha256};

/// The name of an entry in a store, as bytes; see [`EntryName::to_key`].
pub type Key = Arc<[u8]>;

/// The longest that a part may be once it is encoded.
const LONGEST_PART: usize = 200;
/// The beginning of a part that was too long; the hash follows.
const HASH: &str = "%sha256-";

/// The parts that the name of an entry is made of.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EntryName<'a> {
    /// The namespace of the limiter.
    pub namespace: &'a str,
    /// The actor, whose entries belong together.
    pub actor: &'a str,
    /// The key of the limit.
    pub limit: &'a str,
    /// The shape of the entry. Different shapes are different entries.
    pub shape: Shape,
    /// The block beside that entry, instead of the entry.
    pub is_block: bool,
}

impl<'a> EntryName<'a> {
    pub(crate) fn new(namespace: &'a str, actor: &'a str, limit: &'a str, shape: Shape) -> Self {
        Self { namespace, actor, limit, shape, is_block: false }
    }

    /// The name `{namespace}:{actor}:{key}` with braces around the actor, so that a store which is spread over several
    /// servers can keep all entries of one actor together. For shapes other than the level a suffix follows, and for a
    /// block `~block`.
    ///
    /// Different entries never share a name, and no part can break out of its place: special characters are
    /// percent-encoded, and a part that is longer than 200 bytes is replaced by its hash.
    #[must_use]
    pub fn to_key(&self) -> Key {
        let (suffix, block) = (self.shape.suffix(), if self.is_block { "~block" } else { "" });
        name(self.namespace, self.actor, self.limit, [suffix, block])
    }
}

/// A part of a name, as it is read back from a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NamePart {
    /// The part itself.
    Text(String),
    /// Its hash, because it was too long.
    Hash(String),
}

/// An entry's name, as it is read back from a key; the shape and the block are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameParts {
    /// The namespace of the limiter.
    pub namespace: NamePart,
    /// The actor.
    pub actor: NamePart,
    /// The key of the limit.
    pub limit: NamePart,
}

impl NameParts {
    /// The parts of a key that [`EntryName::to_key`] made; nothing of one that it cannot have made.
    #[must_use]
    pub fn of_key(key: &[u8]) -> Option<Self> {
        let (namespace, rest) = std::str::from_utf8(key).ok()?.split_once(":{")?;
        let (actor, rest) = rest.split_once("}:")?;
        let limit = rest.split_once('~').map_or(rest, |(limit, _)| limit);
        Some(Self { namespace: decode(namespace)?, actor: decode(actor)?, limit: decode(limit)? })
    }
}

impl NamePart {
    /// True for the part of this text.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        match self {
            Self::Text(part) => part == text,
            Self::Hash(_) => {
                let mut encoded = String::new();
                encode(&mut encoded, text);
                decode(&encoded).is_some_and(|part| part == *self)
            }
        }
    }
}

/// A name with this suffix. No entry has one that begins with a percent sign which no two hexadecimal digits follow.
pub(crate) fn name(namespace: &str, actor: &str, limit: &str, suffixes: [&str; 2]) -> Key {
    let length = [namespace, actor, limit].into_iter().chain(suffixes).map(str::len).sum::<usize>();
    let mut name = String::with_capacity(length + 4);
    encode(&mut name, namespace);
    name.push_str(":{");
    encode(&mut name, actor);
    name.push_str("}:");
    encode(&mut name, limit);
    for suffix in suffixes {
        name.push_str(suffix);
    }
    name.into_bytes().into()
}

fn encode(name: &mut String, part: &str) {
    let start = name.len();
    if part.is_empty() {
        // Empty braces would be no hash tag.
        name.push('%');
    }
    if part.len() <= LONGEST_PART {
        let mut rest = part;
        while let Some(index) = rest.bytes().position(is_special) {
            name.push_str(&rest[..index]);
            hexadecimal(name, &rest.as_bytes()[index..=index], "%");
            rest = &rest[index + 1..];
        }
        name.push_str(rest);
    }
    if name.len() - start > LONGEST_PART || part.len() > LONGEST_PART {
        name.truncate(start);
        name.push_str(HASH);
        hexadecimal(name, &Sha256::digest(part), "");
    }
}

fn decode(part: &str) -> Option<NamePart> {
    if let Some(hash) = part.strip_prefix(HASH) {
        return Some(NamePart::Hash(hash.to_owned()));
    }
    // A percent sign by itself stands for the empty text.
    let mut pieces = part.strip_suffix('%').unwrap_or(part).split('%');
    let mut text = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        text.push(u8::from_str_radix(piece.get(..2)?, 16).ok()?);
        text.extend(piece.bytes().skip(2));
    }
    let text = String::from_utf8(text).ok()?;
    let mut encoded = String::with_capacity(part.len());
    encode(&mut encoded, &text);
    // Other spellings are not of this store's making.
    (encoded == part).then_some(NamePart::Text(text))
}

/// True for the ASCII bytes that are escaped.
const fn is_special(byte: u8) -> bool {
    matches!(byte, b'%' | b':' | b'~' | b'{' | b'}' | ..b' ' | 0x7f)
}

fn hexadecimal(name: &mut String, bytes: &[u8], before_each: &str) {
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(name, "{before_each}{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn key(namespace: &str, actor: &str, limit: &str, shape: Shape) -> Key {
        EntryName::new(namespace, actor, limit, shape).to_key()
    }

    fn text(key: &Key) -> String {
        String::from_utf8(key.to_vec()).expect("text stays text")
    }

    #[test]
    fn reads_as_what_it_is() {
        let level = |namespace, actor, limit| text(&key(namespace, actor, limit, Shape::Level));
        assert_eq!(level("tidegate", "203.0.113.9", "login"), "tidegate:{203.0.113.9}:login");
        assert_eq!(level("a:b", "{x}", "50%~log"), "a%3ab:{%7bx%7d}:50%25%7elog");
        assert_eq!(level("", "", "k"), "%:{%}:k");
        assert_eq!(level("n", "Ægir\n\x7f", "k"), "n:{Ægir%0a%7f}:k");
        let names = Shape::ALL.map(|shape| text(&key("n", "ada", "k", shape)));
        let suffixes = ["", "~counter", "~decay", "~smooth", "~calendar", "~slots", "~log", "~held", "~interval"];
        assert_eq!(names, suffixes.map(|suffix| format!("n:{{ada}}:k{suffix}")));
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
        fn a_key_is_read_back_as_its_name(
            namespace in part(), actor in part(), limit in part(), shape in select(Shape::ALL.to_vec()), is_block: bool,
        ) {
            let name = EntryName { is_block, ..EntryName::new(&namespace, &actor, &limit, shape) };
            let parts = NameParts::of_key(&name.to_key()).expect("a name");
            for (part, text) in [(&parts.namespace, &namespace), (&parts.actor, &actor), (&parts.limit, &limit)] {
                prop_assert!(part.is(text) && !part.is(&format!("{text}a")), "{part:?} of {text:?}");
                let is_short = matches!(part, NamePart::Text(part) if part == text);
                prop_assert!(is_short || text.len() > LONGEST_PART / 3, "{part:?} of {text:?}");
            }
        }

        #[test]
        fn no_key_is_too_strange_to_be_looked_at(key: Vec<u8>, text in "[a%:{}~]{0,20}") {
            let _ = NameParts::of_key(&key);
            let _ = NameParts::of_key(text.as_bytes());
            let part = decode(&text);
            if let Some(NamePart::Text(part)) = &part {
                let mut encoded = String::new();
                encode(&mut encoded, part);
                prop_assert_eq!(encoded, text);
            }
        }

        #[test]
        fn there_is_one_tag_and_it_is_the_actor(namespace in part(), actor in part(), limit in part()) {
            let name = text(&key(&namespace, &actor, &limit, Shape::Level));
            prop_assert_eq!((name.matches('{').count(), name.matches('}').count()), (1, 1));
            let (before, rest) = name.split_once(":{").expect("a tag");
            let (tag, after) = rest.split_once("}:").expect("its end");
            prop_assert!(!tag.is_empty() && !before.contains(':') && !after.contains(':'));
            prop_assert!(name.len() <= 3 * LONGEST_PART + 4);
            prop_assert!(!name.chars().any(|c| c.is_ascii_control()));
        }
    }
}
