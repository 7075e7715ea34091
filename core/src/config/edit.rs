//! Changes of a document's overrides, for the command.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::document::Format;
use super::entry::Entry;
use super::error::LimitsError;
use super::{Limits, OVERRIDES};
use crate::limit::Value;

/// A JSON document that is being changed: its names, and its limits as they are written, stay as they are.
#[derive(Debug)]
pub(crate) struct Draft {
    names: Vec<(String, Entry)>,
    overrides: Vec<Entry>,
}

impl Draft {
    /// Reads a document that is sound.
    pub(crate) fn read(text: &str) -> Result<Self, LimitsError> {
        Limits::from_str(text, Format::Json)?;
        let mut draft = Self { names: Vec::new(), overrides: Vec::new() };
        if let Ok(Entry::Table(names)) = Entry::read(text, Format::Json) {
            draft.names = names;
        }
        let is_list = |(name, entry): &(String, Entry)| name == OVERRIDES && matches!(entry, Entry::List(_));
        if let Some(at) = draft.names.iter().position(is_list)
            && let (_, Entry::List(overrides)) = draft.names.remove(at)
        {
            draft.overrides = overrides;
        }
        Ok(draft)
    }

    /// Removes the overrides whose fields of these names are the same; true if there were some.
    pub(crate) fn remove(&mut self, fields: &[(&str, Option<&str>)]) -> bool {
        let count = self.overrides.len();
        self.overrides.retain(|one| !fields.iter().all(|(name, text)| field(one, name) == *text));
        self.overrides.len() < count
    }

    /// Puts an override before all others, so that it holds.
    pub(crate) fn put_first(&mut self, fields: Vec<(String, Entry)>) {
        self.overrides.insert(0, Entry::Table(fields));
    }

    /// The document as text, if it is sound.
    pub(crate) fn write(mut self) -> Result<String, LimitsError> {
        if !self.overrides.is_empty() {
            self.names.push((OVERRIDES.to_owned(), Entry::List(self.overrides)));
        }
        // Objects, lists, strings and numbers: there is nothing in it that serialisation can refuse.
        let text = serde_json::to_string_pretty(&Entry::Table(self.names)).unwrap_or_default() + "\n";
        Limits::from_str(&text, Format::Json).map(|_| text)
    }
}

/// The text in a field of an entry.
fn field<'a>(entry: &'a Entry, name: &str) -> Option<&'a str> {
    let Entry::Table(fields) = entry else { return None };
    match fields.iter().find(|(known, _)| known == name) {
        Some((_, Entry::Value(Value::Text(text)))) => Some(text),
        _ => None,
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(Value::Text(text)) => serializer.serialize_str(text),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "it is whole, and one that is larger is written as it is"
            )]
            Self::Value(Value::Number(number)) if number.fract() == 0.0 && number.abs() < 1e15 => {
                serializer.serialize_i64(*number as i64)
            }
            Self::Value(Value::Number(number)) => serializer.serialize_f64(*number),
            Self::Value(Value::Bool(value)) => serializer.serialize_bool(*value),
            // A document that is sound has no other value.
            Self::Value(_) => serializer.serialize_unit(),
            Self::Limit(limit) => limit.serialize(serializer),
            Self::List(items) => serializer.collect_seq(items),
            Self::Table(entries) => {
                let mut table = serializer.serialize_map(Some(entries.len()))?;
                for (name, entry) in entries {
                    table.serialize_entry(name, entry)?;
                }
                table.end()
            }
        }
    }
}
