//! The vocabulary in which each type says what its wire form consists of.
//!
//! A type goes through its fields once, in [`Definition::form`](super::Definition::form). The parser reads by it; the
//! JSON Schema and the packages of other languages are generated from it.

use super::number::{LARGEST_COUNT, Scope};
use crate::error::LimitError;

/// A visitor of the fields of a type: it reads them, or notes what they are.
pub(super) trait Form {
    /// The type in a sentence, and what else there is to know.
    fn about(&mut self, _sentence: &'static str, _details: &'static str) {}
    fn required(&mut self, field: Number) -> f64;
    fn optional(&mut self, field: Number) -> Option<f64>;
    fn number_or(&mut self, field: Number, default: f64) -> f64;
    fn flag(&mut self, name: &'static str, about: &'static str) -> bool;
    fn choice<T: Copy + Default + PartialEq>(
        &mut self,
        name: &'static str,
        about: &'static str,
        choices: &[(&'static str, T)],
    ) -> T;
    /// A choice without a default.
    fn required_choice<T: Copy + Default>(
        &mut self,
        name: &'static str,
        about: &'static str,
        choices: &[(&'static str, T)],
    ) -> T;
    fn text_or(&mut self, name: &'static str, about: &'static str, default: &'static str) -> String;
    /// Two fields of which neither means anything without the other; compiling refuses one alone.
    fn go_together(&mut self, _fields: [&'static str; 2]) {}
}

/// A field that takes a number.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) bounds: Bounds,
    /// A duration, in milliseconds.
    pub(super) is_duration: bool,
}

/// Bounds of a number that hold whatever the other fields say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// A count of units from 1 to this; fractions round up.
    CountUpTo(u64),
    /// At least this.
    AtLeast(f64),
    /// Above this.
    Above(f64),
    /// A whole number from 1 to this.
    WholeUpTo(u8),
}

impl Number {
    /// A duration instead of a plain number.
    pub(super) const fn millis(self) -> Self {
        Self { is_duration: true, ..self }
    }

    /// Compiling asks the same, but stops at the first field.
    pub(super) fn check(&self, key: &str, value: f64) -> Result<(), LimitError> {
        let scope = Scope { key, factor: 1.0 };
        match self.bounds {
            Bounds::CountUpTo(most) => scope.count_up_to(self.name, value, most).map(drop),
            Bounds::AtLeast(least) => scope.at_least(self.name, value, least).map(drop),
            Bounds::Above(bound) => match scope.at_least(self.name, value, bound)? {
                value if value > bound => Ok(()),
                value => Err(LimitError::range(key, self.name, format!("must be above {bound}"), value)),
            },
            Bounds::WholeUpTo(most) => scope.whole_up_to(self.name, value, most).map(drop),
        }
    }
}

pub(super) const fn count(name: &'static str, about: &'static str) -> Number {
    count_up_to(LARGEST_COUNT, name, about)
}

pub(super) const fn count_up_to(most: u64, name: &'static str, about: &'static str) -> Number {
    Number { name, about, bounds: Bounds::CountUpTo(most), is_duration: false }
}

pub(super) const fn at_least(least: f64, name: &'static str, about: &'static str) -> Number {
    Number { name, about, bounds: Bounds::AtLeast(least), is_duration: false }
}

pub(super) const fn above(bound: f64, name: &'static str, about: &'static str) -> Number {
    Number { name, about, bounds: Bounds::Above(bound), is_duration: false }
}

pub(super) const fn whole_up_to(most: u8, name: &'static str, about: &'static str) -> Number {
    Number { name, about, bounds: Bounds::WholeUpTo(most), is_duration: false }
}

pub(super) const PERIOD: Number = above(0.0, "period", "Span that the count is for.").millis();
pub(super) const COUNT_BLOCKED: &str = "Charges denied attempts too, so that only a pause helps.";
pub(super) const FACTOR_SCALES: &str = "Effect of an actor's factor: on the size, or on the size and the rate.";
