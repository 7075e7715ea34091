//! Explanations of definitions and of answers, in numbers and in words.

mod call;
mod legacy;
pub(crate) mod words;

use std::fmt;

use serde::Serialize;

pub use call::{CallExplanation, CheckExplanation};
pub use legacy::LegacyTranslation;

use crate::algorithm::Rule;
use crate::error::LimitError;
use crate::limit::{Blocking, Kind, Limit};
use crate::time::{Micros, millis_up, wire_millis};
use words::{number, rate, time};

/// The explanation of a definition, for an actor with some factor.
///
/// The numbers are there to be read by programs, in [`to_json`](Self::to_json) too; [`Display`](fmt::Display) says the
/// same in words.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Explanation {
    /// The key of the limit.
    pub key: String,
    /// Its type in the wire form, or `legacy`.
    #[serde(rename = "type")]
    pub type_name: &'static str,
    /// The factor that all of [`allowances`](Self::allowances) are scaled by.
    pub factor: f64,
    /// The allowances; where there are two, both hold at once; none is no limit.
    pub allowances: Vec<Allowance>,
    /// The translation of a legacy limit's fields.
    pub translated: Option<LegacyTranslation>,
    /// The block after a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Blocking>,
}

/// The allowance of one rule, counted in calls of cost 1. `None` is no bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Allowance {
    /// The most calls in a single instant, when nothing was charged before.
    pub burst: Option<u64>,
    /// No more calls than this per second, in the long run.
    pub per_second: Option<f64>,
    /// The most calls in any span of a second.
    pub most_in_second: Option<u64>,
    /// The most calls in any span of a minute.
    pub most_in_minute: Option<u64>,
    /// The most calls in any span of an hour.
    pub most_in_hour: Option<u64>,
    /// The most calls in any span of a day.
    pub most_in_day: Option<u64>,
    /// Until a full entry that is left alone is empty again, in milliseconds.
    pub window_ms: u64,
    /// A note on this type that the numbers do not show.
    pub note: Option<&'static str>,
    /// Units are held until they are released, for at most [`window_ms`](Self::window_ms) unless they are renewed.
    #[serde(skip)]
    holds: bool,
}

const SECOND: Micros = 1_000_000;

impl Allowance {
    fn of(rule: &Rule) -> Self {
        Self {
            burst: rule.burst(),
            per_second: rule.per_second(),
            most_in_second: rule.most_in(SECOND),
            most_in_minute: rule.most_in(60 * SECOND),
            most_in_hour: rule.most_in(3_600 * SECOND),
            most_in_day: rule.most_in(86_400 * SECOND),
            window_ms: millis_up(rule.window()),
            note: rule.note(),
            holds: rule.holds(),
        }
    }
}

impl Limit {
    /// The explanation of this definition, as it is defined.
    ///
    /// ```
    /// use tidegate::Limit;
    ///
    /// let explanation = Limit::bucket("login", 10).build()?.explain();
    /// let allowance = &explanation.allowances[0];
    /// assert_eq!((allowance.burst, allowance.most_in_minute), (Some(10), Some(69)));
    /// assert!(explanation.to_string().starts_with(r#""login" (bucket) admits 10 at once, then 1 per second."#));
    ///
    /// // A legacy limit may not become what its fields say.
    /// let legacy = Limit::from_json(r#"{ "key": "notes", "max": 700, "duration": 1000 }"#)?.explain();
    /// assert!(legacy.to_string().contains("700 per second were asked for, 1,000 per second are enforced: +42.9 %."));
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    #[must_use]
    pub fn explain(&self) -> Explanation {
        // What was compiled when the limit was made cannot fail.
        self.explained(
            1.0,
            self.compiled(1.0).map(|rules| rules.iter().map(Allowance::of).collect()).unwrap_or_default(),
        )
    }

    /// The explanation of this definition for an actor with this factor; 0 lifts the limit.
    ///
    /// # Errors
    /// When the factor is not a finite number of at least 0, or scales the limit out of its bounds.
    pub fn explain_with(&self, factor: f64) -> Result<Explanation, LimitError> {
        Ok(self.explained(factor, self.rules(factor)?.iter().map(Allowance::of).collect()))
    }

    fn explained(&self, factor: f64, allowances: Vec<Allowance>) -> Explanation {
        crate::panics::point("explain");
        let translated = match self.kind() {
            Kind::Legacy(legacy) => self.compiled(1.0).and_then(|rules| LegacyTranslation::of(legacy, rules)),
            _ => None,
        };
        let type_name = self.kind().type_name().unwrap_or("legacy");
        let block = self.kind().blocking().copied().filter(|_| self.blocks());
        Explanation { key: self.key().to_owned(), type_name, factor, allowances, translated, block }
    }
}

impl Explanation {
    /// The numbers as JSON text, names in camelCase.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings and numbers: there is nothing in it that serialisation can refuse.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({})", self.key, self.type_name)?;
        #[expect(clippy::float_cmp, reason = "exactly 1 is as defined")]
        if self.factor != 1.0 {
            write!(f, " with factor {}", self.factor)?;
        }
        if self.allowances.is_empty() {
            f.write_str(" limits nothing.")?;
        }
        for (index, allowance) in self.allowances.iter().enumerate() {
            f.write_str(if index == 0 { " admits " } else { "\nAt the same time it admits no more than " })?;
            allowance.fmt(f)?;
        }
        if let Some(block) = self.block.filter(|_| !self.allowances.is_empty()) {
            write!(f, "\nA denial for these reasons closes it for {}", time(wire_millis(block.length())))?;
            if block.growth() > 1.0 {
                let (growth, longest) = (number(block.growth()), time(wire_millis(block.longest())));
                write!(f, ", then for {growth} times as long each time, up to {longest}")?;
            }
            f.write_str(".")?;
        }
        self.translated.as_ref().map_or(Ok(()), |translated| write!(f, "\n{translated}"))
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |count: Option<u64>| count.map_or("any number".to_owned(), |count| number(count as f64));
        if self.holds {
            let (most, lease) = (count(self.burst), time(self.window_ms as f64));
            return write!(f, "at most {most} at once, each for at most {lease} unless it is renewed.");
        }
        write!(f, "{} at once, then {}.", count(self.burst), rate(self.per_second))?;
        if self.most_in_day.is_some() {
            let most = [
                (self.most_in_second, "second"),
                (self.most_in_minute, "minute"),
                (self.most_in_hour, "hour"),
                (self.most_in_day, "day"),
            ];
            let most = most.map(|(most, span)| format!("{} in any {span}", count(most)));
            write!(f, "\nAt most {}.", most.join(", "))?;
        }
        write!(f, "\nA full entry empties in {}.", time(self.window_ms as f64))?;
        self.note.map_or(Ok(()), |note| write!(f, " {note}"))
    }
}
