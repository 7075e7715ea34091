//! The value of an entry as bytes, for stores that keep it as a whole.
use crate::algorithm::{Entry, Numbers, Rule, whole};
use crate::time::EXACT;

/// The numbers of an entry, each a double, in little-endian order.
pub(super) fn encode(entry: &Entry) -> Vec<u8> {
    entry.numbers().iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The entry that a rule has left as these bytes; none if no limit has written them.
pub(super) fn decode(rule: &Rule, bytes: &[u8]) -> Option<Entry> {
    let (doubles, []) = bytes.as_chunks::<8>() else { return None };
    let mut doubles = Doubles(doubles);
    let entry = rule.entry_of(&mut doubles)?;
    doubles.0.is_empty().then_some(entry)
}

/// Those of an entry that have not been read.
struct Doubles<'a>(&'a [[u8; 8]]);

impl Doubles<'_> {
    fn next(&mut self) -> Option<f64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(f64::from_le_bytes(*first))
    }
}

impl Numbers for Doubles<'_> {
    fn integer(&mut self) -> Option<u64> {
        let number = self.next()?;
        let is_one = number >= 0.0 && number.fract() == 0.0 && number <= (EXACT as f64) * 2.0;
        is_one.then(|| whole(number))
    }

    fn amount(&mut self) -> Option<f64> {
        self.next().filter(|number| number.is_finite() && *number >= 0.0)
    }

    /// All that is left, in order of time.
    fn runs(&mut self) -> Option<Vec<(u64, u64)>> {
        let mut runs: Vec<(u64, u64)> = Vec::with_capacity(self.0.len() / 2);
        while !self.0.is_empty() {
            let (at, sum) = (self.integer()?, self.integer()?);
            if runs.last().map_or(sum == 0, |before| before.0 >= at || before.1 >= sum) {
                return None;
            }
            runs.push((at, sum));
        }
        Some(runs)
    }
}
