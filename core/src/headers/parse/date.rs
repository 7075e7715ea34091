//! The three forms of a date in HTTP.

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds since the Unix epoch of `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or
/// `Sun Nov  6 08:49:37 1994`.
pub(super) fn seconds(text: &str) -> Option<u64> {
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
