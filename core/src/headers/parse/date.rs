//! The three forms of a date in HTTP, and RFC 3339's.

use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds since the Unix epoch of `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or
/// `Sun Nov  6 08:49:37 1994`.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    if text.len() > 40 {
        return None;
    }
    let words: Vec<_> = text.split([' ', ',', '-', ':']).filter(|word| !word.is_empty()).collect();
    let (day, month, year, time) = match words[..] {
        [_, day, month, year, hour, minute, second, "GMT" | "UTC"] | [_, month, day, hour, minute, second, year] => {
            (day, month, year, [hour, minute, second])
        }
        _ => return None,
    };
    let month = MONTHS.iter().position(|known| month.eq_ignore_ascii_case(known))? + 1;
    let year = match (year.len(), number(year, 9999_i16)?) {
        // Half a century ahead it stands for one in the past, as RFC 9110 says; here from 2070 on.
        (2, short) if short < 70 => 2000 + short,
        (2, short) => 1900 + short,
        (_, year) => year,
    };
    let date = Date::new(year, i8::try_from(month).ok()?, day.parse().ok()?).ok()?;
    let [hour, minute, second] = time;
    let minute = TimeZone::UTC.to_timestamp(date.at(number(hour, 23)?, number(minute, 59)?, 0, 0)).ok()?;
    // Also a leap second, which is the first one of the next minute.
    u64::try_from(minute.as_second() + number(second, 60_i64)?).ok()
}

/// A number that has no sign, because words end at one.
fn number<N: Copy + FromStr + PartialOrd>(word: &str, most: N) -> Option<N> {
    word.parse().ok().filter(|number| *number <= most)
}

/// Milliseconds since the Unix epoch of `1994-11-06T08:49:37.25Z` or `1994-11-06T10:49:37+02:00`, rounded up.
pub(crate) fn rfc3339(text: &str) -> Option<u64> {
    // An instant comes after the date. jiff would take a zone in brackets, too.
    let has_time = matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' '));
    if text.len() > 40 || !has_time || text.ends_with(']') {
        return None;
    }
    let nanos = text.parse::<Timestamp>().ok()?.as_nanosecond();
    u64::try_from(nanos).ok().map(|nanos| nanos.div_ceil(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_forms() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(seconds(text), Some(784_111_777), "{text}");
        }
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(seconds("Thu, 29 Feb 2024 23:59:60 GMT"), Some(1_709_251_200));
        assert_eq!(seconds("Sun, 01 Mar 2026 00:00:00 GMT"), Some(1_772_323_200));
    }

    #[test]
    fn instants_of_rfc_3339() {
        for (text, millis) in [
            ("1994-11-06T08:49:37Z", Some(784_111_777_000)),
            ("1994-11-06t08:49:37.25z", Some(784_111_777_250)),
            ("1994-11-06T08:49:37.0001Z", Some(784_111_777_001)),
            ("1994-11-06T10:49:37+02:00", Some(784_111_777_000)),
            ("1994-11-06T03:19:37-05:30", Some(784_111_777_000)),
            ("1970-01-01T00:00:00+01:00", None),
            ("1994-11-06T08:49:37", None),
            ("1994-11-06T08:49:37.Z", None),
            ("1994-13-06T08:49:37Z", None),
            ("1994-11-06T08:49:37Z[UTC]", None),
            ("1994-11-06", None),
            ("19941106T084937Z", None),
            ("1994-11-06T08:49:37+é00", None),
            ("1994-11-06T08:49:3é", None),
            ("-994-11-06T08:49:37Z", None),
        ] {
            assert_eq!(rfc3339(text), millis, "{text}");
        }
    }

    #[test]
    fn no_dates() {
        for text in [
            "",
            "120",
            "Sun, 06 Nov 1994",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Thu, 31 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Sun, 06 Nov 0 08:49:37 GMT",
            "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 +0100",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
