//! The value of an entry as bytes, for stores that keep it as a whole.

use crate::algorithm::{Doubles, Entry, Rule};

/// The numbers of an entry, each a double, in little-endian order.
pub(super) fn encode(entry: &Entry) -> Vec<u8> {
    let mut numbers: Vec<f64> = Vec::new();
    entry.write(&mut numbers);
    numbers.into_iter().flat_map(f64::to_le_bytes).collect()
}

/// The entry that a rule has left as these bytes; none if no limit has written them.
pub(super) fn decode(rule: &Rule, bytes: &[u8]) -> Option<Entry> {
    let (doubles, []) = bytes.as_chunks::<8>() else { return None };
    let mut doubles = Doubles(doubles.iter().map(|bytes| f64::from_le_bytes(*bytes)));
    let entry = rule.entry_of(&mut doubles)?;
    doubles.0.next().is_none().then_some(entry)
}
