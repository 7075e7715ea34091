//! Limits as people write them: `"100/minute"`, `"10 per second"`, `"5/15m burst 20"`.

use super::number::LARGEST_COUNT;
use super::token_bucket::TokenBucket;
use super::{Limit, check_key};
use crate::error::LimitError;

/// A longer text is no limit that anyone wrote, and is refused before it is looked at.
pub(super) const LONGEST: usize = 256;

/// The units of time by all their names, in milliseconds.
const UNITS: [(&str, u64); 22] = [
    ("ms", 1),
    ("millisecond", 1),
    ("milliseconds", 1),
    ("s", 1_000),
    ("sec", 1_000),
    ("secs", 1_000),
    ("second", 1_000),
    ("seconds", 1_000),
    ("m", 60_000),
    ("min", 60_000),
    ("mins", 60_000),
    ("minute", 60_000),
    ("minutes", 60_000),
    ("h", 3_600_000),
    ("hour", 3_600_000),
    ("hours", 3_600_000),
    ("d", 86_400_000),
    ("day", 86_400_000),
    ("days", 86_400_000),
    ("w", 604_800_000),
    ("week", 604_800_000),
    ("weeks", 604_800_000),
];

/// The largest multiple of a unit; what it gives is bounded again when the limit is made.
const LARGEST_MULTIPLE: u64 = 1_000_000_000_000;

impl Limit {
    /// Reads a token bucket from text: a count, `/` or `per`, and a period; perhaps `burst` and how many may be saved up.
    ///
    /// A period is a unit (`ms`, `s`, `m`, `h`, `d`, `w`, or their names: `second`, `minutes`, …), perhaps with a whole
    /// number before it. Capitals and blanks do not matter. Takes time linear in the length, which is at most 256 bytes.
    ///
    /// # Errors
    /// For any other text; the message says what was expected at which character, counted from 1. And as
    /// [`Limit::new`] for numbers that no token bucket can have.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::Limit;
    ///
    /// let api = Limit::parse("api", "5/15m burst 20")?;
    /// assert_eq!(api, Limit::token_bucket("api", 5, Duration::from_secs(900)).burst(20).build()?);
    /// assert_eq!(Limit::parse("api", "10 per second")?, Limit::parse("api", "10/s")?);
    ///
    /// let error = Limit::parse("api", "10/fortnight").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     r#"limit "api": definition must have a unit of time (ms, s, m, h, d or w) at character 4, got "10/fortnight""#
    /// );
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    pub fn parse(key: impl Into<String>, text: &str) -> Result<Self, LimitError> {
        let key = key.into();
        check_key(&key)?;
        let bucket = token_bucket(text).map_err(|problem| problem.of(&key, text))?;
        Self::new(key, bucket)
    }
}

/// `count ("/" | "per") [multiple] unit ["burst" count]`, with blanks anywhere between.
fn token_bucket(text: &str) -> Result<TokenBucket, Problem> {
    if text.len() > LONGEST {
        return Err(Problem::TooLong);
    }
    let mut words = Words { text, at: 0 };
    let count = words.number("a count", LARGEST_COUNT)?;
    if !words.symbol(b'/') && !words.word("per") {
        return Err(words.expected(r#""/" or "per""#));
    }
    let multiple = if words.at_digit() { words.number("a period", LARGEST_MULTIPLE)? } else { 1 };
    let unit = words.unit()?;
    let burst = if words.word("burst") { Some(words.number("a burst", LARGEST_COUNT)? as f64) } else { None };
    if !words.ended() {
        return Err(words.expected(if burst.is_some() { "nothing more" } else { r#""burst" or nothing more"# }));
    }
    Ok(TokenBucket { count: count as f64, period: multiple as f64 * unit as f64, burst })
}

/// The same as a regular expression, for schemas: what ECMA-262 and every other dialect understand alike.
pub(super) fn pattern() -> String {
    let any_case =
        |word: &str| -> String { word.chars().flat_map(|c| ['[', c, c.to_ascii_uppercase(), ']']).collect() };
    // That many zeros make LARGEST_COUNT, and one digit less any number below it.
    let (blanks, number) = (r"[ \t\n\f\r]*", "0*(?:[1-9][0-9]{0,11}|10{12})");
    let (per, burst) = (any_case("per"), any_case("burst"));
    let units = UNITS.map(|(name, _)| any_case(name)).join("|");
    let divided = format!(r"(?:(?:/|{per}[ \t\n\f\r]){blanks}(?:{number}{blanks})?|{per}{number}{blanks})");
    let burst = format!(r"(?:[ \t\n\f\r]{blanks}{burst}{blanks}{number})?");
    format!("^{blanks}{number}{blanks}{divided}(?:{units}){burst}{blanks}$")
}

enum Problem {
    TooLong,
    Expected { what: String, at: usize },
}

impl Problem {
    fn of(self, key: &str, text: &str) -> LimitError {
        match self {
            Self::TooLong => {
                let problem = format!("must be at most {LONGEST} bytes");
                LimitError::range(key, "definition", problem, format_args!("{} bytes", text.len()))
            }
            Self::Expected { what, at } => {
                // All that was read before is ASCII, so a byte is a character.
                let problem = format!("must have {what} at character {}", at + 1);
                LimitError::range(key, "definition", problem, format_args!("{text:?}"))
            }
        }
    }
}

/// Reads from left to right and never goes back over more than one word.
struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    /// What is left, from the next character that is not blank.
    fn rest(&mut self) -> &'a [u8] {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let start = rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len());
        self.at += start;
        rest.get(start..).unwrap_or_default()
    }

    fn take(&mut self, belongs: fn(&u8) -> bool) -> &'a str {
        let rest = self.rest();
        let (start, length) = (self.at, rest.iter().take_while(|byte| belongs(byte)).count());
        self.at += length;
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn ended(&mut self) -> bool {
        self.rest().is_empty()
    }

    fn at_digit(&mut self) -> bool {
        self.rest().first().is_some_and(u8::is_ascii_digit)
    }

    fn symbol(&mut self, symbol: u8) -> bool {
        let found = self.rest().first() == Some(&symbol);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str) -> bool {
        self.rest();
        let start = self.at;
        let found = self.take(u8::is_ascii_alphabetic).eq_ignore_ascii_case(word);
        if !found {
            self.at = start;
        }
        found
    }

    /// A whole number from 1 to `most`.
    fn number(&mut self, what: &str, most: u64) -> Result<u64, Problem> {
        self.rest();
        let start = self.at;
        let digits = self.take(u8::is_ascii_digit);
        match digits.bytes().fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'))) {
            number if (1..=most).contains(&number) => Ok(number),
            _ => {
                self.at = start;
                Err(self.expected(&format!("{what}, a whole number from 1 to {most},")))
            }
        }
    }

    fn unit(&mut self) -> Result<u64, Problem> {
        self.rest();
        let start = self.at;
        let word = self.take(u8::is_ascii_alphabetic);
        let unit = UNITS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name));
        unit.map(|(_, millis)| *millis).ok_or_else(|| {
            self.at = start;
            self.expected("a unit of time (ms, s, m, h, d or w)")
        })
    }

    fn expected(&mut self, what: &str) -> Problem {
        self.rest();
        Problem::Expected { what: what.to_owned(), at: self.at }
    }
}
