//! The value of an entry as bytes, for stores that keep it as a whole.

use crate::decision::{Decayed, Entry, Level, Paced, Series, Windows};
use crate::limit::{Rule, real, whole};
use crate::time::EXACT;

/// The numbers of an entry, each a double, in little-endian order.
pub(super) fn encode(entry: &Entry) -> Vec<u8> {
    let integers = |numbers: &[u64]| numbers.iter().copied().map(real).collect::<Vec<f64>>();
    let numbers = match entry {
        Entry::Absent => Vec::new(),
        Entry::Level(Level { level, since }) => integers(&[*level, *since]),
        Entry::Counter(Windows { previous, current, start }) => integers(&[*previous, *current, *start]),
        Entry::Decay(Decayed { count, start }) => vec![*count, real(*start)],
        Entry::Smooth(Paced { stored, free, written }) => vec![*stored, real(*free), real(*written)],
        Entry::Slots(series) | Entry::Log(series) => {
            series.runs().flat_map(|(at, units)| [real(at), real(units)]).collect()
        }
    };
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The entry that a rule has left as these bytes; none if no limit has written them.
pub(super) fn decode(rule: &Rule, bytes: &[u8]) -> Option<Entry> {
    let (numbers, []) = bytes.as_chunks::<8>() else { return None };
    let numbers: Vec<f64> = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    Some(match (rule, &numbers[..]) {
        (Rule::Level(_), [level, since]) => Entry::Level(Level { level: integer(*level)?, since: integer(*since)? }),
        (Rule::Counter(_), [previous, current, start]) => Entry::Counter(Windows {
            previous: integer(*previous)?,
            current: integer(*current)?,
            start: integer(*start)?,
        }),
        (Rule::Decay(_), [count, start]) => Entry::Decay(Decayed { count: positive(*count)?, start: integer(*start)? }),
        (Rule::Smooth(_), [stored, free, written]) => {
            Entry::Smooth(Paced { stored: positive(*stored)?, free: integer(*free)?, written: integer(*written)? })
        }
        (Rule::Slots(_), runs) => Entry::Slots(Box::new(series(runs)?)),
        (Rule::Log(_), runs) => Entry::Log(Box::new(series(runs)?)),
        _ => return None,
    })
}

/// Runs in order of time, each with the units up to itself.
fn series(numbers: &[f64]) -> Option<Series> {
    let (pairs, []) = numbers.as_chunks::<2>() else { return None };
    let runs = pairs.iter().map(|[at, sum]| Some((integer(*at)?, integer(*sum)?))).collect::<Option<Vec<_>>>()?;
    let in_order = runs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1);
    let counts = runs.first().is_none_or(|(_, sum)| *sum > 0);
    (in_order && counts).then(|| Series::of(runs))
}

fn integer(number: f64) -> Option<u64> {
    let is_one = number >= 0.0 && number.fract() == 0.0 && number <= (EXACT as f64) * 2.0;
    is_one.then(|| whole(number))
}

fn positive(number: f64) -> Option<f64> {
    (number.is_finite() && number >= 0.0).then_some(number)
}
