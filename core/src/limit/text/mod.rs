//! Limits as people write them: `"100/minute"`, `"5/15m burst 20"`, `"1000/day fixed-window"`, `"100/minute; 10/second"`.

mod named;
mod pattern;
mod rate;
mod units;
mod words;

use super::{Limit, check_key};
use crate::error::LimitError;
pub(crate) use pattern::pattern;
use rate::Rate;
use units::shortest;
pub(crate) use words::LONGEST;
use words::{Problem, Words};

impl Limit {
    /// Reads one limit from text: a count, `/` or `per`, and a period; then perhaps a type, and what that type may say.
    ///
    /// A period is a unit (`ms`, `s`, `m`, `h`, `d`, `w`, `month`, `year`, or their names: `second`, `minutes`, …),
    /// perhaps with a whole number before it. A month is 30 days and a year 365, but of a calendar. Capitals and blanks do not matter.
    ///
    /// | type | may say | stands for |
    /// | --- | --- | --- |
    /// | none, `token-bucket` | `burst` and a count | a token bucket; its burst is the count |
    /// | `fixed-window` | | a fixed window at multiples of the period |
    /// | `sliding-window` | `resolution` and a period | a sliding window; its resolution is a tenth of the period |
    /// | `sliding-counter` | | a sliding counter |
    /// | `sliding-log` | | a sliding log without a minimal interval |
    /// | `calendar-window` | | a window of the calendar in UTC: its period is a day, a week, a month or a year |
    ///
    /// The other types need more than a count and a period, and are written as objects. Takes time linear in the
    /// length, which is at most 256 bytes.
    ///
    /// # Errors
    /// For any other text; the message says what was expected, at which character (counted from 1), and what stands
    /// there. And as [`Limit::new`] for numbers that the type cannot have.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::Limit;
    ///
    /// let api = Limit::parse("api", "5/15m burst 20")?;
    /// assert_eq!(api, Limit::token_bucket("api", 5, Duration::from_secs(900)).burst(20).build()?);
    /// assert_eq!(Limit::parse("api", "10 per second")?, Limit::parse("api", "10/s")?);
    ///
    /// let daily = Limit::parse("daily", "1000/day fixed-window")?;
    /// assert_eq!(daily, Limit::fixed_window("daily", 1000, Duration::from_secs(86_400)).build()?);
    ///
    /// let error = Limit::parse("api", "10/fortnight").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     r#"limit "api": definition must have a unit of time (ms, s, m, h, d, w, month or year) at character 4, got "fortnight""#
    /// );
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    pub fn parse(key: impl Into<String>, text: &str) -> Result<Self, LimitError> {
        let key = key.into();
        check_key(&key)?;
        let single = |text| {
            let mut words = Words::new(text)?;
            let rate = words.rate()?;
            if words.symbol(b';') {
                words.at -= 1;
                return Err(words.expected("one limit alone, with nothing more,"));
            }
            if words.ended() { Ok(rate) } else { Err(words.expected(&rate.may_follow("nothing more"))) }
        };
        let rate = single(text).map_err(|problem| problem.of(&key, text))?;
        Self::new(key, rate.kind)
    }

    /// Reads a list of limits from text, each as [`parse`](Self::parse) reads it, with `;` between them.
    ///
    /// A limit that stands alone has `key` as its key. Of several, each has `key`, an `@` and its period: two limits
    /// under one key would count in one entry. So the order does not matter, and a limit that is added or taken out
    /// leaves the counts of the others. No two may have the same period.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), for the list as a whole.
    ///
    /// ```
    /// use tidegate::Limit;
    ///
    /// let limits = Limit::parse_all("api", "100/minute; 10/second")?;
    /// assert_eq!(limits, [Limit::parse("api@1m", "100/minute")?, Limit::parse("api@1s", "10/second")?]);
    /// assert_eq!(Limit::parse_all("api", "100/minute")?, [Limit::parse("api", "100/minute")?]);
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    pub fn parse_all(key: impl Into<String>, text: &str) -> Result<Vec<Self>, LimitError> {
        let key = key.into();
        check_key(&key)?;
        let rates = list(text).map_err(|problem| problem.of(&key, text))?;
        let several = rates.len() > 1;
        let name = |rate: &Rate| if several { format!("{key}@{}", shortest(rate.period)) } else { key.clone() };
        rates.into_iter().map(|rate| Self::new(name(&rate), rate.kind)).collect()
    }
}

/// A period by itself, in milliseconds, as the options of the command have it.
#[cfg(feature = "cli")]
pub(crate) fn period(text: &str) -> Result<u64, LimitError> {
    let read = |text| {
        let mut words = Words::new(text)?;
        let millis = words.period()?;
        if words.ended() { Ok(millis) } else { Err(words.expected("nothing more")) }
    };
    read(text).map_err(|problem| problem.of("", text))
}

fn list(text: &str) -> Result<Vec<Rate>, Problem> {
    let mut words = Words::new(text)?;
    let mut rates: Vec<Rate> = Vec::new();
    loop {
        words.rest();
        let start = words.at;
        let rate = words.rate()?;
        if rates.iter().any(|known| known.period == rate.period) {
            words.at = start;
            return Err(words.expected("a period that no limit before it has"));
        }
        rates.push(rate);
        if words.ended() {
            return Ok(rates);
        }
        if !words.symbol(b';') {
            let rate = rates.pop();
            return Err(
                words.expected(&rate.map_or_else(String::new, |rate| rate.may_follow(r#"";" or nothing more"#)))
            );
        }
    }
}
