//! A type's wire form as data, for whatever is generated from it.

use super::Definition;
use super::form::{Bounds, Form, Number};

/// The wire form of one type.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// The name of its struct.
    pub name: &'static str,
    /// Its name in the wire form; the legacy form has none.
    pub wire_name: Option<&'static str>,
    /// The type in a sentence. Names of fields stand in backticks, here and below.
    pub about: &'static str,
    /// More about it.
    pub details: &'static str,
    /// A definition in the wire form.
    pub example: &'static str,
    /// Its fields, but for the key and the type.
    pub fields: Vec<Field>,
    /// Fields of which neither may be given without the other.
    pub together: Vec<[&'static str; 2]>,
}

/// A field of a type.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name in the wire form.
    pub name: &'static str,
    /// The field in a sentence.
    pub about: &'static str,
    /// The values that it takes.
    pub takes: Takes,
    /// It must be given.
    pub is_required: bool,
}

/// The values that a field takes, and its default, if it has one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Takes {
    /// A number; a duration is in milliseconds.
    Number {
        /// Its bounds whatever the other fields say.
        bounds: Bounds,
        /// A duration.
        is_duration: bool,
        /// The value of a field that is left out.
        default: Option<f64>,
    },
    /// True or false; false by default.
    Flag,
    /// One of these names; the first is the default, unless the field must be given.
    Choice(Vec<&'static str>),
    /// A string; this one by default.
    Text(&'static str),
}

impl Outline {
    pub(super) fn of<D: Definition>(name: &'static str) -> Self {
        let mut outline = Self { name, wire_name: D::TYPE, example: D::EXAMPLE, ..Self::default() };
        D::form(&mut outline);
        outline
    }

    fn number(&mut self, field: Number, default: Option<f64>, is_required: bool) {
        let Number { name, about, bounds, is_duration } = field;
        let takes = Takes::Number { bounds, is_duration, default };
        self.fields.push(Field { name, about, takes, is_required });
    }
}

impl Form for Outline {
    fn about(&mut self, sentence: &'static str, details: &'static str) {
        (self.about, self.details) = (sentence, details);
    }

    fn required(&mut self, field: Number) -> f64 {
        self.number(field, None, true);
        0.0
    }

    fn optional(&mut self, field: Number) -> Option<f64> {
        self.number(field, None, false);
        None
    }

    fn number_or(&mut self, field: Number, default: f64) -> f64 {
        self.number(field, Some(default), false);
        default
    }

    fn flag(&mut self, name: &'static str, about: &'static str) -> bool {
        self.fields.push(Field { name, about, takes: Takes::Flag, is_required: false });
        false
    }

    fn choice<T: Copy + Default + PartialEq>(
        &mut self,
        name: &'static str,
        about: &'static str,
        choices: &[(&'static str, T)],
    ) -> T {
        let is_default = |choice: &&(&'static str, T)| choice.1 == T::default();
        let first = choices.iter().filter(is_default);
        let others = choices.iter().filter(|choice| !is_default(choice));
        let names = first.chain(others).map(|(name, _)| *name).collect();
        self.fields.push(Field { name, about, takes: Takes::Choice(names), is_required: false });
        T::default()
    }

    fn required_choice<T: Copy + Default>(
        &mut self,
        name: &'static str,
        about: &'static str,
        choices: &[(&'static str, T)],
    ) -> T {
        let names = choices.iter().map(|(name, _)| *name).collect();
        self.fields.push(Field { name, about, takes: Takes::Choice(names), is_required: true });
        T::default()
    }

    fn text_or(&mut self, name: &'static str, about: &'static str, default: &'static str) -> String {
        self.fields.push(Field { name, about, takes: Takes::Text(default), is_required: false });
        String::new()
    }

    fn go_together(&mut self, fields: [&'static str; 2]) {
        self.together.push(fields);
    }
}
