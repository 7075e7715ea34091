//! Keys that are no names of entries, the keys of Sharkey's layout, and the slots of a cluster.

use crate::store::remote::{Key, Request, name};

/// A cluster has this many slots.
const SLOTS: u16 = 16_384;

/// A key in this slot, or in any, that is no entry's.
pub(crate) fn mark(namespace: &str, slot: Option<u16>) -> Key {
    let tagged = |tag: u32| name(namespace, &tag.to_string(), "", ["%w", ""]);
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

/// The slot of a cluster that a key belongs to: the checksum of what is between its first braces, or else of all of it.
pub(crate) fn slot(key: &[u8]) -> u16 {
    let position = |bytes: &[u8], of: u8| bytes.iter().position(|byte| *byte == of);
    let tag = position(key, b'{').and_then(|open| {
        let inside = &key[open + 1..];
        position(inside, b'}').filter(|close| *close > 0).map(|close| &inside[..close])
    });
    checksum(tag.unwrap_or(key)) % SLOTS
}

/// The slot that the first entry of a request belongs to; those of one actor share it.
pub(crate) fn slot_of(request: &Request) -> u16 {
    request.entries().first().map_or(0, |key| slot(key))
}

/// True if the entries of a request are in different slots.
pub(crate) fn is_scattered(request: &Request) -> bool {
    let mut slots = request.entries().iter().map(|key| slot(key));
    let first = slots.next();
    slots.any(|slot| Some(slot) != first)
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
    use crate::algorithm::Shape;
    use crate::store::remote::EntryName;
    use proptest::prelude::*;

    fn text(key: &Key) -> String {
        String::from_utf8(key.to_vec()).expect("text stays text")
    }

    #[test]
    fn a_mark_is_in_its_slot_and_no_entry() {
        for wanted in [0, 1, 9_999, SLOTS - 1] {
            assert_eq!(slot(&mark("shop", Some(wanted))), wanted);
        }
        assert_eq!(text(&mark("shop", None)), "shop:{0}:%%w");
        assert_ne!(mark("shop", None), EntryName::new("shop", "0", "", Shape::Level).to_key());
    }

    #[test]
    fn is_found_by_others() {
        let names = |namespace| both(&pair(namespace, "203.0.113.9", "/api/notes")).map(|key| text(&key));
        assert_eq!(names(""), ["rl_203.0.113.9_/api/notes_c", "rl_203.0.113.9_/api/notes_t"]);
        assert_eq!(names("example.com")[0], "example.com:rl_203.0.113.9_/api/notes_c");
    }

    proptest! {
        #[test]
        fn an_entry_is_in_the_slot_of_its_actor(namespace: String, actor: String, limit: String) {
            let name = text(&EntryName::new(&namespace, &actor, &limit, Shape::Level).to_key());
            let (_, rest) = name.split_once(":{").expect("a tag");
            let (tag, _) = rest.split_once("}:").expect("its end");
            prop_assert_eq!(slot(name.as_bytes()), checksum(tag.as_bytes()) % SLOTS);
        }
    }
}
