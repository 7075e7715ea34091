//! Instants as logs write them, as microseconds since the epoch.

use crate::time::{EXACT, Micros};

const SECOND: u64 = 1_000_000;

/// An instant in any of the forms below.
pub(super) fn instant(text: &str) -> Option<Micros> {
    let text = text.trim();
    match text.as_bytes().first()? {
        b'0'..=b'9' if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => number(text.parse().ok()?),
        b'0'..=b'9' => rfc3339(text).or_else(|| common(text)),
        b'[' => common(text.strip_prefix('[')?.strip_suffix(']')?),
        _ => None,
    }
}

/// A number of seconds, milliseconds, microseconds or nanoseconds, by its size: seconds as large as the least of the
/// next unit would lie more than 3,000 years ahead.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to lie in the range")]
pub(super) fn number(value: f64) -> Option<Micros> {
    let micros = match value {
        _ if !(0.0..1e19).contains(&value) => return None,
        _ if value < 1e11 => value * 1e6,
        _ if value < 1e14 => value * 1e3,
        _ if value < 1e17 => value,
        _ => value / 1e3,
    };
    let micros = (micros + 0.5).floor();
    (micros < EXACT as f64).then_some(micros as Micros)
}

/// `2026-11-24T18:00:00.25Z`, with any offset; without one it is UTC.
fn rfc3339(text: &str) -> Option<Micros> {
    let timestamp = text.parse::<jiff::Timestamp>().or_else(|_| format!("{text}Z").parse());
    u64::try_from(timestamp.ok()?.as_microsecond()).ok()
}

/// `10/Oct/2000:13:55:36 -0700`, as servers of the web write it.
pub(super) fn common(text: &str) -> Option<Micros> {
    const MONTHS: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let bytes: &[u8; 26] = text.as_bytes().try_into().ok()?;
    let two = |at: usize| match (bytes.get(at)?, bytes.get(at + 1)?) {
        (tens @ b'0'..=b'9', ones @ b'0'..=b'9') => Some(i64::from(tens - b'0') * 10 + i64::from(ones - b'0')),
        _ => None,
    };
    let marks = [(2, b'/'), (6, b'/'), (11, b':'), (14, b':'), (17, b':'), (20, b' ')];
    if marks.iter().any(|(at, mark)| bytes.get(*at) != Some(mark)) {
        return None;
    }
    let (month, _) = (1..).zip(MONTHS).find(|(_, name)| bytes.get(3..6) == Some(*name))?;
    let (day, year) = (two(0)?, two(7)? * 100 + two(9)?);
    let (hour, minute, second) = (two(12)?, two(15)?, two(18)?);
    if !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let offset = (two(22)? * 60 + two(24)?) * 60;
    let offset = match bytes.get(21)? {
        b'+' => offset,
        b'-' => -offset,
        _ => return None,
    };
    let seconds = days(year, month, day) * 86_400 + (hour * 60 + minute) * 60 + second - offset;
    u64::try_from(seconds).ok().map(|seconds| seconds * SECOND)
}

/// Days since the epoch of a date in our calendar. Years begin in March here, so that a leap day is the last of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

/// An instant as people read it: RFC 3339, in UTC, without a fraction that is zero.
pub(crate) fn shown(at: Micros) -> String {
    let at = i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_microsecond(at).ok());
    at.map_or_else(String::new, |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::{common, instant, shown};

    #[test]
    fn instants_are_read_in_every_form() {
        let same = [
            "10/Oct/2000:13:55:36 -0700",
            "[10/Oct/2000:20:55:36 +0000]",
            "2000-10-10T20:55:36Z",
            "2000-10-10T22:55:36.000+02:00",
            "2000-10-10 20:55:36",
            "971211336",
            "971211336.000",
            "971211336000",
            "971211336000000",
            "971211336000000000",
        ];
        for text in same {
            assert_eq!(instant(text), Some(971_211_336_000_000), "{text}");
        }
        assert_eq!(shown(971_211_336_250_000), "2000-10-10T20:55:36.25Z");
    }

    #[test]
    fn leap_days_are_counted_and_what_is_no_instant_is_none() {
        assert_eq!(common("29/Feb/2024:00:00:00 +0000"), instant("2024-02-29T00:00:00Z"));
        assert_eq!(common("01/Mar/2100:00:00:00 +0000"), instant("2100-03-01T00:00:00Z"));
        assert_eq!(common("31/Dec/1970:23:59:59 +0000"), instant("1970-12-31T23:59:59Z"));
        for text in [
            "",
            "-",
            "x",
            "-5",
            "1e300",
            "99999999999999999999",
            "10/Foo/2000:13:55:36 -0700",
            "32/Oct/2000:13:55:36 -0700",
            "10/Oct/2000:13:55:36",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }
}
