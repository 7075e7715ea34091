//! A reader of words, numbers and units, from left to right.

use super::named::Named;
use super::units::UNITS;
use crate::error::LimitError;

/// The longest text in bytes; a longer one is refused unread.
pub(crate) const LONGEST: usize = 256;

/// The largest multiple of a unit; what it gives is bounded again when the limit is made.
const LARGEST_MULTIPLE: u64 = 1_000_000_000_000;

pub(super) enum Problem {
    TooLong,
    Expected { what: String, at: usize },
}

impl Problem {
    pub(super) fn of(self, key: &str, text: &str) -> LimitError {
        match self {
            Self::TooLong => {
                let problem = format!("must be at most {LONGEST} bytes");
                LimitError::range(key, "definition", problem, format_args!("{} bytes", text.len()))
            }
            Self::Expected { what, at } => {
                // All that was read before is ASCII, so a byte is a character.
                let problem = format!("must have {what} at character {}", at + 1);
                match text.get(at..).unwrap_or_default() {
                    "" => LimitError::range(key, "definition", problem, "the end of the text"),
                    rest => LimitError::range(key, "definition", problem, format_args!("{rest:?}")),
                }
            }
        }
    }
}

/// Reads from left to right and never goes back over more than one word.
pub(super) struct Words<'a> {
    text: &'a str,
    pub(super) at: usize,
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, Problem> {
        if text.len() > LONGEST { Err(Problem::TooLong) } else { Ok(Self { text, at: 0 }) }
    }

    /// A unit of time, perhaps with a whole number before it, in milliseconds.
    pub(super) fn period(&mut self) -> Result<u64, Problem> {
        let multiple = if self.at_digit() { self.number("a period", LARGEST_MULTIPLE)? } else { 1 };
        // What saturates is far above what a limit may be.
        Ok(multiple.saturating_mul(self.unit()?))
    }

    /// The rest, from the next character that is not blank.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let start = rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len());
        self.at += start;
        rest.get(start..).unwrap_or_default()
    }

    pub(super) fn take(&mut self, belongs: fn(&u8) -> bool) -> &'a str {
        let rest = self.rest();
        let (start, length) = (self.at, rest.iter().take_while(|byte| belongs(byte)).count());
        self.at += length;
        self.text.get(start..self.at).unwrap_or_default()
    }

    pub(super) fn ended(&mut self) -> bool {
        self.rest().is_empty()
    }

    pub(super) fn at_digit(&mut self) -> bool {
        self.rest().first().is_some_and(u8::is_ascii_digit)
    }

    pub(super) fn symbol(&mut self, symbol: u8) -> bool {
        let found = self.rest().first() == Some(&symbol);
        self.at += usize::from(found);
        found
    }

    pub(super) fn word(&mut self, word: &str) -> bool {
        self.rest();
        let start = self.at;
        let found = self.take(u8::is_ascii_alphabetic).eq_ignore_ascii_case(word);
        if !found {
            self.at = start;
        }
        found
    }

    /// The name of a type that a rate can have.
    pub(super) fn kind(&mut self) -> Option<Named> {
        self.rest();
        let start = self.at;
        let word = self.take(|byte| byte.is_ascii_alphabetic() || *byte == b'-');
        let kind = Named::ALL.into_iter().find(|kind| word.eq_ignore_ascii_case(kind.name()));
        if kind.is_none() {
            self.at = start;
        }
        kind
    }

    /// A whole number from 1 to `most`.
    pub(super) fn number(&mut self, what: &str, most: u64) -> Result<u64, Problem> {
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

    pub(super) fn unit(&mut self) -> Result<u64, Problem> {
        self.rest();
        let start = self.at;
        let word = self.take(u8::is_ascii_alphabetic);
        let unit = UNITS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name));
        unit.map(|(_, millis)| *millis).ok_or_else(|| {
            self.at = start;
            self.expected("a unit of time (ms, s, m, h, d, w, month or year)")
        })
    }

    pub(super) fn expected(&mut self, what: &str) -> Problem {
        self.rest();
        Problem::Expected { what: what.to_owned(), at: self.at }
    }
}
