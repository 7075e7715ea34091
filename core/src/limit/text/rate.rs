//! One limit of a text.

use super::super::Kind;
use super::super::blocking::Blocking;
use super::super::calendar_window::CalendarWindow;
use super::super::fixed_window::{Anchor, FixedWindow};
use super::super::number::LARGEST_COUNT;
use super::super::sliding_counter::SlidingCounter;
use super::super::sliding_log::SlidingLog;
use super::super::sliding_window::SlidingWindow;
use super::super::token_bucket::TokenBucket;
use super::named::Named;
use super::units::calendar_unit;
use super::words::{Problem, Words};

/// A sliding window counts in slots of this part of its period, unless the text says another resolution.
const SLOTS_IN_A_PERIOD: f64 = 10.0;

/// The names of [`Named::ALL`], as a list in a sentence.
fn type_names() -> String {
    let names = Named::ALL.map(Named::name);
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}", others.join(", "))
}

/// One limit of a text: `count ("/" | "per") period [type] [option]`, with blanks anywhere between.
pub(super) struct Rate {
    pub(super) kind: Kind,
    pub(super) period: u64,
    named: Option<Named>,
    complete: bool,
}

impl Rate {
    /// The words that could have followed where this limit ended.
    pub(super) fn may_follow(&self, end: &str) -> String {
        match self.named {
            _ if self.complete => end.to_owned(),
            None => format!(r#""burst", a type ({}) or {end}"#, type_names()),
            Some(Named::TokenBucket) => format!(r#""burst" or {end}"#),
            Some(Named::SlidingWindow) => format!(r#""resolution" or {end}"#),
            Some(_) => end.to_owned(),
        }
    }
}

impl Words<'_> {
    /// One limit, up to its end or to what cannot belong to it.
    pub(super) fn rate(&mut self) -> Result<Rate, Problem> {
        let count = self.number("a count", LARGEST_COUNT)? as f64;
        if !self.symbol(b'/') && !self.word("per") {
            return Err(self.expected(r#""/" or "per""#));
        }
        self.rest();
        let (start, is_multiple) = (self.at, self.at_digit());
        let millis = self.period()?;
        let (named, period) = (self.kind(), millis as f64);
        let mut complete = false;
        let kind = match named {
            Some(Named::FixedWindow) => {
                FixedWindow { max: count, period, anchor: Anchor::Epoch, blocking: Blocking::NONE }.into()
            }
            Some(Named::SlidingCounter) => SlidingCounter { max: count, period, blocking: Blocking::NONE }.into(),
            Some(Named::SlidingLog) => {
                SlidingLog { max: count, period, min_interval: 0.0, count_blocked: false, blocking: Blocking::NONE }
                    .into()
            }
            Some(Named::CalendarWindow) => {
                let Some(unit) = calendar_unit(millis).filter(|_| !is_multiple) else {
                    self.at = start;
                    return Err(self.expected("a day, a week, a month or a year"));
                };
                CalendarWindow::new(count, unit).into()
            }
            Some(Named::SlidingWindow) => {
                complete = self.word("resolution");
                let resolution = if complete { self.period()? as f64 } else { period / SLOTS_IN_A_PERIOD };
                SlidingWindow { max: count, period, resolution, count_blocked: false, blocking: Blocking::NONE }.into()
            }
            _ => {
                complete = self.word("burst");
                let burst = if complete { Some(self.number("a burst", LARGEST_COUNT)? as f64) } else { None };
                TokenBucket { count, period, burst, blocking: Blocking::NONE }.into()
            }
        };
        Ok(Rate { kind, period: millis, named, complete })
    }
}
