//! The three forms of a date in HTTP, and RFC 3339's.

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
    let number = |word: &str, most: u64| word.parse::<u64>().ok().filter(|number| *number <= most);
    let month = MONTHS.iter().position(|known| month.eq_ignore_ascii_case(known))? as u64 + 1;
    let year = match (year.len(), number(year, 9999)?) {
        // Half a century ahead it stands for one in the past, as RFC 9110 says; here from 2070 on.
        (2, short) if short < 70 => 2000 + short,
        (2, short) => 1900 + short,
        (_, year) => year,
    };
    let day = number(day, 31).filter(|day| *day > 0)?;
    let [hour, minute, second] = [number(time[0], 23)?, number(time[1], 59)?, number(time[2], 60)?];
    Some((days(year, month, day)? * 24 + hour) * 3600 + minute * 60 + second)
}

/// Milliseconds since the Unix epoch of `1994-11-06T08:49:37.25Z` or `1994-11-06T10:49:37+02:00`, rounded up.
pub(crate) fn rfc3339(text: &str) -> Option<u64> {
    let fixed = text.get(..19).filter(|fixed| fixed.is_ascii())?;
    let marks = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if text.len() > 40 || marks.iter().any(|(at, mark)| fixed.as_bytes()[*at] != *mark) {
        return None;
    }
    let number = |from: usize, to: usize, most: u64| digits(&fixed[from..to]).filter(|number| *number <= most);
    let day = number(8, 10, 31).filter(|day| *day > 0)?;
    let month = number(5, 7, 12).filter(|month| *month > 0)?;
    let hours = days(number(0, 4, 9999)?, month, day)? * 24 + number(11, 13, 23)?;
    let seconds = (hours * 60 + number(14, 16, 59)?) * 60 + number(17, 19, 60)?;
    let rest = &text[19..];
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (fraction, zone) = rest.split_at(zone_at);
    let millis = match fraction.strip_prefix('.') {
        None if fraction.is_empty() => 0,
        None => return None,
        Some(decimals) => {
            digits(decimals)?;
            let (kept, dropped) = decimals.split_at(decimals.len().min(3));
            digits(&format!("{kept:0<3}"))? + u64::from(dropped.bytes().any(|digit| digit != b'0'))
        }
    };
    let east = match zone.as_bytes() {
        [b'Z' | b'z'] => 0,
        [_, _, _, b':', _, _] => {
            let minutes = digits(zone.get(1..3)?)? * 60 + digits(zone.get(4..6)?)?;
            i64::try_from(minutes * 60).ok()? * if zone.starts_with('-') { -1 } else { 1 }
        }
        _ => return None,
    };
    Some(seconds.checked_add_signed(-east)? * 1000 + millis)
}

fn digits(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|digit| digit.is_ascii_digit()) { None } else { text.parse().ok() }
}

/// Days since the Unix epoch; years are counted from March, so that a leap day is the last one.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let before = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    before.checked_sub(719_468)
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
