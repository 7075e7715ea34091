//! The units of time that a text may name.

use crate::algorithm::CalendarUnit;

/// The units of time by all their names, in milliseconds.
pub(super) const UNITS: [(&str, u64); 26] = [
    ("ms", 1),
    ("millisecond", 1),
    ("milliseconds", 1),
    ("s", SECOND),
    ("sec", SECOND),
    ("secs", SECOND),
    ("second", SECOND),
    ("seconds", SECOND),
    ("m", MINUTE),
    ("min", MINUTE),
    ("mins", MINUTE),
    ("minute", MINUTE),
    ("minutes", MINUTE),
    ("h", HOUR),
    ("hour", HOUR),
    ("hours", HOUR),
    ("d", DAY),
    ("day", DAY),
    ("days", DAY),
    ("w", WEEK),
    ("week", WEEK),
    ("weeks", WEEK),
    ("month", MONTH),
    ("months", MONTH),
    ("year", YEAR),
    ("years", YEAR),
];
const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const WEEK: u64 = 7 * DAY;
/// A month and a year are the spans that come closest, but in a window of a calendar.
const MONTH: u64 = 30 * DAY;
const YEAR: u64 = 365 * DAY;

/// The unit of a calendar that a period without a number before it names.
pub(super) fn calendar_unit(millis: u64) -> Option<CalendarUnit> {
    let units = [CalendarUnit::Day, CalendarUnit::Week, CalendarUnit::Month, CalendarUnit::Year];
    [DAY, WEEK, MONTH, YEAR].into_iter().zip(units).find(|(length, _)| *length == millis).map(|(_, unit)| unit)
}

/// A period as short as it can be written: `1m`, `36h`, `250ms`.
pub(super) fn shortest(millis: u64) -> String {
    let units = [("w", WEEK), ("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", 1)];
    let (name, unit) = units.into_iter().find(|(_, unit)| millis.is_multiple_of(*unit)).unwrap_or(("ms", 1));
    format!("{}{name}", millis / unit)
}
