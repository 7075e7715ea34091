//! Changes of a JSON document.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::draft::{Draft, Subject, is_a_limit};
use crate::config::OVERRIDES;
use crate::config::document::Format;
use crate::config::entry::Entry;
use crate::config::error::Fault;
use crate::limit::Value;

/// Its names, and its limits as they are written, stay as they are.
pub(super) struct Json {
    names: Vec<(String, Entry)>,
    overrides: Vec<Entry>,
}

impl Json {
    pub(super) fn read(text: &str) -> Result<Self, Fault> {
        let mut draft = Self { names: Vec::new(), overrides: Vec::new() };
        if let Entry::Table(names) = Entry::read(text, Format::Json)? {
            draft.names = names;
        }
        let is_list = |(name, entry): &(String, Entry)| name == OVERRIDES && matches!(entry, Entry::List(_));
        if let Some(at) = draft.names.iter().position(is_list)
            && let (_, Entry::List(overrides)) = draft.names.remove(at)
        {
            draft.overrides = overrides;
        }
        if draft.names.iter().any(|(name, _)| name == OVERRIDES) { Err(is_a_limit()) } else { Ok(draft) }
    }
}

impl Draft for Json {
    fn remove(&mut self, subject: Subject<'_>) -> bool {
        let count = self.overrides.len();
        self.overrides.retain(|one| !subject.iter().all(|(name, text)| field(one, name) == *text));
        self.overrides.len() < count
    }

    fn put_first(&mut self, fields: Vec<(&'static str, Value)>) {
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), Entry::Value(value)));
        self.overrides.insert(0, Entry::Table(fields.collect()));
    }

    fn write(self: Box<Self>) -> String {
        let Self { mut names, overrides } = *self;
        if !overrides.is_empty() {
            names.push((OVERRIDES.to_owned(), Entry::List(overrides)));
        }
        // Objects, lists, strings and numbers: there is nothing in it that serialisation can refuse.
        serde_json::to_string_pretty(&Entry::Table(names)).unwrap_or_default() + "\n"
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
