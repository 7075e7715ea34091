//! A document in any of the formats, as far down as a definition reaches.

use std::fmt;
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::entry::Entry;
use super::error::Fault;
use super::overrides::MOST_OVERRIDES as MOST;
use crate::limit::Value;
use crate::names::named;

/// The format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// RFC 8259.
    Json,
    /// TOML 1.1; needs the feature `toml`.
    Toml,
    /// YAML 1.2; needs the feature `yaml`.
    Yaml,
}

named!(Format, "format", Json = "json", Toml = "toml", Yaml = "yaml");

impl Format {
    /// The format of a file by how its name ends, whatever the case.
    ///
    /// ```
    /// use tidegate::config::Format;
    ///
    /// assert_eq!(Format::of("conf/limits.YML"), Some(Format::Yaml));
    /// assert_eq!(Format::of("limits.ini"), None);
    /// assert_eq!("toml".parse(), Ok(Format::Toml));
    /// ```
    #[must_use]
    pub fn of(path: impl AsRef<Path>) -> Option<Self> {
        let ending = path.as_ref().extension()?.to_str()?.to_ascii_lowercase();
        Some(match ending.as_str() {
            "json" => Self::Json,
            "toml" => Self::Toml,
            "yaml" | "yml" => Self::Yaml,
            _ => return None,
        })
    }
}

impl Entry {
    pub(super) fn read(text: &str, format: Format) -> Result<Self, Fault> {
        // What Windows' editors put before a text is not part of it.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match format {
            Format::Json => json(text),
            #[cfg(feature = "toml")]
            Format::Toml => toml(text),
            #[cfg(feature = "yaml")]
            Format::Yaml => yaml(text),
            #[cfg(not(all(feature = "toml", feature = "yaml")))]
            _ => Err(Fault::of_text(format!("{format:?} is not read by this build: its feature is off"))),
        }
    }
}

fn json(text: &str) -> Result<Entry, Fault> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let node = Depth(0).deserialize(&mut deserializer).and_then(|node| deserializer.end().map(|()| node));
    node.map_err(|error| {
        // At the end of a line the column is 0.
        let column = error.column().max(1);
        Fault::of_syntax(without_place(&error.to_string()), Some((error.line() as u64, column as u64)))
    })
}

/// A parser's message ends with the place, which stands beside it here.
fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(problem, _)| problem)
}

#[cfg(feature = "toml")]
fn toml(text: &str) -> Result<Entry, Fault> {
    let document = toml_edit::Document::parse(text)
        .map_err(|error| Fault::of_syntax(error.message(), error.span().map(|span| place(text, span.start))))?;
    Ok(from_toml(document.as_item()))
}

/// The line and column of a byte, counted from 1.
#[cfg(feature = "toml")]
pub(super) fn place(text: &str, at: usize) -> (u64, u64) {
    let before = text.get(..at).unwrap_or(text);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    (before.matches('\n').count() as u64 + 1, column as u64 + 1)
}

/// As deep as the parser lets a document be, which is not deep.
#[cfg(feature = "toml")]
fn from_toml(item: &toml_edit::Item) -> Entry {
    use toml_edit::Item;
    match item {
        Item::None => Entry::Value(Value::Null),
        Item::Value(value) => from_toml_value(value),
        Item::Table(table) => from_toml_table(table),
        Item::ArrayOfTables(tables) => {
            Entry::List(tables.iter().take(MOST + 1).map(|table| from_toml_table(table)).collect())
        }
    }
}

#[cfg(feature = "toml")]
fn from_toml_table(table: &dyn toml_edit::TableLike) -> Entry {
    Entry::Table(table.iter().map(|(name, item)| (name.to_owned(), from_toml(item))).collect())
}

#[cfg(feature = "toml")]
fn from_toml_value(value: &toml_edit::Value) -> Entry {
    use toml_edit::Value as Toml;
    Entry::Value(match value {
        Toml::String(text) => Value::Text(text.value().clone()),
        Toml::Integer(integer) => Value::Number(*integer.value() as f64),
        Toml::Float(number) => Value::Number(*number.value()),
        Toml::Boolean(value) => Value::Bool(*value.value()),
        Toml::Datetime(_) => Value::Other("a date".to_owned()),
        Toml::Array(items) => return Entry::List(items.iter().take(MOST + 1).map(from_toml_value).collect()),
        Toml::InlineTable(table) => return from_toml_table(table),
    })
}

#[cfg(feature = "yaml")]
fn yaml(text: &str) -> Result<Entry, Fault> {
    use serde_saphyr::options::NonFiniteFloatPolicy;
    let options = serde_saphyr::options! {
        // The one who reads the definition says it better.
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        // Aliases of aliases may not make more of a document than a large one has.
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000 },
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options(text, options) {
        // An empty file, or one of comments alone: as empty as one of TOML.
        Ok(Entry::Value(Value::Null)) => Ok(Entry::Table(Vec::new())),
        Ok(entry) => Ok(entry),
        Err(error) => {
            let position = error.location().filter(|location| location.line() > 0);
            let position = position.map(|location| (location.line(), location.column()));
            Err(Fault::of_syntax(yaml_problem(&error), position))
        }
    }
}

/// The problem, in words of ours where the parser speaks of its own options and types.
#[cfg(feature = "yaml")]
fn yaml_problem(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error as E;
    let problem = match error {
        // An error where an alias stands, or below it.
        E::AliasError { error, .. } => return yaml_problem(error),
        // The grammar's own errors.
        E::ExternalMessage { msg, .. } => without_place(msg),
        E::Eof { .. } => "unexpected end",
        E::MultipleDocuments { .. } => "must be one document, not several",
        E::DuplicateMappingKey { key: Some(key), .. } => {
            return format!("duplicate name \"{}\"", crate::error::excerpt(key));
        }
        E::DuplicateMappingKey { .. } => "duplicate name",
        E::UnknownAnchor { .. } => "the alias refers to no anchor",
        E::RecursiveReferencesRequireWeakTypes { .. } => "the alias refers to what it stands in",
        E::AliasReplayCounterOverflow { .. }
        | E::AliasReplayLimitExceeded { .. }
        | E::AliasExpansionLimitExceeded { .. }
        | E::AliasReplayStackDepthExceeded { .. } => "the aliases make more of the document than is read",
        E::Budget { .. } => "is too large or too deep",
        E::MergeValueNotMapOrSeqOfMaps { .. } | E::MergeKeyNotAllowed { .. } => {
            "the merge key must have a table or a list of tables"
        }
        E::Unexpected { .. }
        | E::NullIntoString { .. }
        | E::TaggedScalarCannotDeserializeIntoString { .. }
        | E::UnexpectedContainerEndWhileReadingKeyNode { .. } => "a name must be text",
        E::InvalidScalar { .. } | E::InvalidBinaryBase64 { .. } | E::BinaryNotUtf8 { .. } => {
            "the value is not what its tag says"
        }
        E::UnsupportedTag { .. } => "the tag is not supported here",
        _ => "is not well-formed YAML",
    };
    problem.to_owned()
}

impl<'de> serde::Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Depth(0).deserialize(deserializer)
    }
}

/// A definition in an override is the fourth level; below it nothing is looked at.
const DEEPEST: u8 = 4;

/// Reads a value at this level.
#[derive(Clone, Copy)]
struct Depth(u8);

impl<'de> DeserializeSeed<'de> for Depth {
    type Value = Entry;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Entry, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Depth {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document of limits")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Entry, E> {
        Ok(Entry::Value(Value::Bool(value)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Entry, E> {
        Ok(Entry::Value(Value::Number(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Entry, E> {
        Ok(Entry::Value(Value::Number(number as f64)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Entry, E> {
        Ok(Entry::Value(Value::Number(number as f64)))
    }

    fn visit_i128<E>(self, number: i128) -> Result<Entry, E> {
        Ok(Entry::Value(Value::Number(number as f64)))
    }

    fn visit_u128<E>(self, number: u128) -> Result<Entry, E> {
        Ok(Entry::Value(Value::Number(number as f64)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Entry, E> {
        Ok(Entry::Value(Value::Text(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Entry, E> {
        Ok(Entry::Value(Value::Text(text)))
    }

    fn visit_bytes<E>(self, _bytes: &[u8]) -> Result<Entry, E> {
        Ok(Entry::Value(Value::Other("bytes".to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Entry, E> {
        Ok(Entry::Value(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Entry, E> {
        Ok(Entry::Value(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Entry, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Entry, A::Error> {
        let mut list = Vec::new();
        // One more than there may be is enough to see that there are too many.
        while self.0 < DEEPEST && list.len() <= MOST {
            let Some(item) = items.next_element_seed(Self(self.0 + 1))? else { return Ok(Entry::List(list)) };
            list.push(item);
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Entry::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Entry, A::Error> {
        let mut table = Vec::new();
        if self.0 >= DEEPEST {
            while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Entry::Table(table));
        }
        while let Some(name) = members.next_key::<String>()? {
            table.push((name, members.next_value_seed(Self(self.0 + 1))?));
        }
        Ok(Entry::Table(table))
    }
}
