//! Calls at given instants: `8s, 12 at 10050ms each 150ms`.

use crate::command::limits::duration;
use crate::command::output::Failure;
use crate::error::shortened;
use crate::time::Micros;

/// The most calls that may be given.
const MOST: u64 = 100_000;

/// Reads the instants of calls before the end, and puts them in order.
pub(super) fn calls(text: &str, end: Micros) -> Result<Vec<Micros>, Failure> {
    let mut instants = Vec::new();
    for text in text.split(',').map(str::trim) {
        let wrong = |problem: String| Failure::of("calls", format!("{:?} {problem}", shortened(text, 60)));
        let (count, first, gap) = part(text).ok_or_else(|| {
            wrong("must be TIME or COUNT at TIME each TIME, such as 10s or 12 at 8050ms each 150ms".to_owned())
        })?;
        if count > MOST - instants.len() as u64 {
            return Err(wrong(format!("makes more than {MOST} calls")));
        }
        instants.extend((0..count).map(|number| first.saturating_add(gap.saturating_mul(number))));
        if instants.last().is_some_and(|last| *last >= end) {
            return Err(wrong("ends after the simulation, which --for makes longer".to_owned()));
        }
    }
    instants.sort_unstable();
    Ok(instants)
}

/// The number of calls, the instant of the first, and the time from one to the next.
fn part(text: &str) -> Option<(u64, Micros, Micros)> {
    let Some((count, times)) = text.split_once(" at ") else { return Some((1, instant(text)?, 0)) };
    let (first, gap) = match times.split_once(" each ") {
        Some((first, gap)) => (first, duration("calls", gap.trim()).ok()?),
        None => (times, 0),
    };
    Some((count.trim().parse().ok().filter(|count| *count > 0)?, instant(first)?, gap))
}

/// A time as the other options have it, or none at all: `0s`.
fn instant(text: &str) -> Option<Micros> {
    let text = text.trim();
    match text.strip_prefix('0').filter(|unit| unit.starts_with(char::is_alphabetic)) {
        Some(unit) => duration("calls", unit).ok().map(|_| 0),
        None => duration("calls", text).ok(),
    }
}
