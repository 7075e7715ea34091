//! The wire form: one flat object, the same in JSON, Python and JavaScript.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use super::form::{Form, Number};
use super::number::Scope;
use super::object::Object;
use super::value::Value;
use super::{Kind, Legacy, Limit, check_key};
use crate::error::LimitError;
use crate::near::hint;

impl Limit {
    /// The JSON Schema (draft 2020-12) of the wire form, as JSON text. Its `$defs` have a document of named limits, as
    /// [`Limits`](crate::config::Limits) reads it, under `limits`.
    ///
    /// All that it refuses, [`from_json`](Self::from_json) refuses too. What it lets pass is sound but for what only all
    /// numbers together show, such as that a full entry drains within 100 years.
    ///
    /// ```
    /// let schema: serde_json::Value = serde_json::from_str(tidegate::Limit::json_schema())?;
    /// assert_eq!(schema["$defs"]["bucket"]["properties"]["dripRate"]["default"], 1000);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub const fn json_schema() -> &'static str {
        // Drawn from the outlines of the types by `make generate`.
        include_str!("../../schema/limit.schema.json")
    }

    /// Reads a definition in the wire form from JSON text.
    ///
    /// # Errors
    /// When the text is not a JSON object, a field is unknown, given twice, missing or of the wrong type, or a value out of bounds.
    pub fn from_json(json: &str) -> Result<Self, LimitError> {
        let Object(fields) = serde_json::from_str(json)
            .map_err(|error| LimitError::wrong_type("", "definition", "must be a JSON object", error))?;
        Self::from_fields(fields)
    }

    /// Reads a definition in the wire form, field by field; what the bindings use.
    ///
    /// # Errors
    /// When a field is unknown, given twice, missing or of the wrong type, or a value out of bounds.
    pub fn from_fields(fields: impl IntoIterator<Item = (String, Value)>) -> Result<Self, LimitError> {
        let read = Reading::of(fields.into_iter().collect());
        match read.malformed.into_iter().next() {
            Some(error) => Err(error),
            None => Self::new(read.key, read.kind),
        }
    }

    /// [`from_fields`](Self::from_fields) with every error there is, not the first alone.
    pub(crate) fn from_fields_checked(fields: Vec<(String, Value)>) -> Result<Self, Vec<LimitError>> {
        let mut read = Reading::of(fields);
        read.malformed.append(&mut read.out_of_bounds);
        if read.malformed.is_empty() {
            return Self::new(read.key, read.kind).map_err(|error| vec![error]);
        }
        if !read.key.is_empty() {
            read.malformed.extend(check_key(&read.key).err());
        }
        Err(read.malformed)
    }

    /// The definition in the wire form, as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // A struct of numbers and strings: there is nothing in it that serialisation can refuse.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A definition as far as it could be read; what could not be read stands in `malformed`.
struct Reading {
    key: String,
    kind: Kind,
    /// Fields that are missing, unknown or of the wrong type.
    malformed: Vec<LimitError>,
    /// Numbers that would be refused whatever the other fields say.
    out_of_bounds: Vec<LimitError>,
}

impl Reading {
    fn of(rest: Vec<(String, Value)>) -> Self {
        let mut fields = Fields { rest, ..Fields::default() };
        fields.take_key();
        let kind = fields.take_type().and_then(|name| fields.take_kind(name.as_deref()));
        let Fields { key, malformed, out_of_bounds, .. } = fields;
        // Of an unknown type nothing can be said, and it stands among the errors.
        Self { key, kind: kind.unwrap_or_else(|| Legacy::default().into()), malformed, out_of_bounds }
    }
}

#[derive(Default)]
struct Fields {
    key: String,
    rest: Vec<(String, Value)>,
    /// The names that there may be.
    known: Vec<&'static str>,
    malformed: Vec<LimitError>,
    out_of_bounds: Vec<LimitError>,
}

impl Fields {
    #[inline(never)]
    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        let index = self.rest.iter().position(|(field, _)| field == name)?;
        Some(self.rest.remove(index).1)
    }

    fn take_key(&mut self) {
        match self.take("key") {
            Some(Value::Text(key)) => self.key = key,
            Some(other) => self.not_text("key", &other),
            None => self.wrong_type("key", "must be given", "none"),
        }
    }

    /// The name of the type; the inner `None` is the legacy form, the outer one an error.
    #[expect(clippy::option_option, reason = "no type is a type here")]
    fn take_type(&mut self) -> Option<Option<String>> {
        match self.take("type") {
            None => return Some(None),
            Some(Value::Text(name)) => return Some(Some(name)),
            Some(other) => self.not_text("type", &other),
        }
        None
    }

    fn take_kind(&mut self, name: Option<&str>) -> Option<Kind> {
        let kind = Kind::read(self, name);
        if kind.is_some() {
            self.none_left();
        } else {
            let name = Value::Text(name.unwrap_or_default().to_owned());
            self.malformed.push(LimitError::range(&self.key, "type", "must be a known type", name));
        }
        kind
    }

    /// The choice of this name; anything else is an error.
    fn chosen<T: Copy>(&mut self, name: &str, given: &Value, choices: &[(&'static str, T)]) -> Option<T> {
        let Value::Text(text) = given else {
            self.not_text(name, given);
            return None;
        };
        let found = choices.iter().find(|(known, _)| known == text);
        if found.is_none() {
            let known: Vec<_> = choices.iter().map(|(known, _)| format!("{known:?}")).collect();
            let problem = format!("must be {}", known.join(" or "));
            self.malformed.push(LimitError::range(&self.key, name, problem, given));
        }
        found.map(|(_, choice)| *choice)
    }

    fn wrong_type(&mut self, name: &str, problem: &str, value: impl fmt::Display) {
        self.malformed.push(LimitError::wrong_type(&self.key, name, problem, value));
    }

    fn not_text(&mut self, name: &str, value: &Value) {
        self.malformed.push(value.not_text(&self.key, name));
    }

    /// A misspelt field must not silently leave its default in force.
    fn none_left(&mut self) {
        for (name, value) in std::mem::take(&mut self.rest) {
            let others = self.known.iter().filter(|known| **known != name);
            let problem = format!("is not a field of this type{}", hint(&name, others));
            self.wrong_type(&crate::error::excerpt(&name), &problem, value);
        }
    }
}

impl Form for Fields {
    fn required(&mut self, field: Number) -> f64 {
        let missing = !self.rest.iter().any(|(name, _)| name == field.name);
        if missing {
            self.wrong_type(field.name, "must be given", "none");
        }
        self.optional(field).unwrap_or_default()
    }

    fn optional(&mut self, field: Number) -> Option<f64> {
        match self.take(field.name)? {
            Value::Number(number) => {
                self.out_of_bounds.extend(field.check(&self.key, number).err());
                return Some(number);
            }
            other => self.wrong_type(field.name, "must be a number", other),
        }
        None
    }

    fn number_or(&mut self, field: Number, default: f64) -> f64 {
        self.optional(field).unwrap_or(default)
    }

    fn flag(&mut self, name: &'static str, _about: &'static str) -> bool {
        match self.take(name) {
            None => false,
            Some(Value::Bool(set)) => set,
            Some(other) => {
                self.wrong_type(name, "must be true or false", other);
                false
            }
        }
    }

    fn choice<T: Copy + Default + PartialEq>(
        &mut self,
        name: &'static str,
        _about: &'static str,
        choices: &[(&'static str, T)],
    ) -> T {
        self.take(name).and_then(|given| self.chosen(name, &given, choices)).unwrap_or_default()
    }

    fn required_choice<T: Copy + Default>(
        &mut self,
        name: &'static str,
        _about: &'static str,
        choices: &[(&'static str, T)],
    ) -> T {
        let given = self.take(name);
        if given.is_none() {
            self.wrong_type(name, "must be given", "none");
        }
        given.and_then(|given| self.chosen(name, &given, choices)).unwrap_or_default()
    }

    fn text_or(&mut self, name: &'static str, _about: &'static str, default: &'static str) -> String {
        match self.take(name) {
            None => {}
            Some(Value::Text(text)) => return text,
            Some(other) => self.not_text(name, &other),
        }
        default.to_owned()
    }
}

/// From the wire form, out of any format that describes itself, such as JSON.
///
/// ```
/// use tidegate::Limit;
///
/// #[derive(serde::Deserialize)]
/// struct Settings {
///     login: Limit,
/// }
///
/// let settings: Settings = serde_json::from_str(r#"{ "login": { "key": "login", "type": "bucket", "size": 10 } }"#)?;
/// assert_eq!(settings.login, Limit::bucket("login", 10).build()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(fields) = Object::deserialize(deserializer)?;
        Self::from_fields(fields).map_err(D::Error::custom)
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Wire<'a> {
            key: &'a str,
            #[serde(flatten)]
            kind: &'a Kind,
        }
        Wire { key: self.key(), kind: self.kind() }.serialize(serializer)
    }
}

/// From the wire form without a key; the values are checked as those of a limit are.
impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(fields) = Object::deserialize(deserializer)?;
        Self::from_fields(fields).map_err(D::Error::custom)
    }
}

impl Kind {
    fn from_fields(rest: Vec<(String, Value)>) -> Result<Self, LimitError> {
        let mut fields = Fields { rest, ..Fields::default() };
        let kind = fields.take_type().and_then(|name| fields.take_kind(name.as_deref()));
        if let Some(error) = fields.malformed.into_iter().next() {
            return Err(error);
        }
        // Of an unknown type nothing can be said, and it stands among the errors.
        let kind = kind.unwrap_or_else(|| Legacy::default().into());
        kind.compile(Scope { key: "", factor: 1.0 }).map(|_| kind)
    }

    /// The error for this type in the place of another.
    pub(super) fn instead_of(&self, expected: Option<&str>) -> LimitError {
        let problem = expected.map_or_else(|| "must not be given".to_owned(), |name| format!("must be {name:?}"));
        match self.type_name() {
            Some(name) => LimitError::range("", "type", problem, format_args!("{name:?}")),
            None => LimitError::wrong_type("", "type", problem, "none"),
        }
    }
}
