//! Definitions as data: a file of named limits, checked as a whole.

mod document;
mod entry;
mod error;
#[cfg(feature = "cli")]
mod places;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::ops::Index;
use std::path::Path;

pub use document::Format;
pub use entry::Entry;
pub use error::{Fault, LimitsError};
#[cfg(feature = "cli")]
pub(crate) use places::Places;

use crate::limit::{Kind, Legacy, Limit, Value};

/// The largest document, in bytes: far more than is written by hand.
pub(crate) const LARGEST: u64 = 8 << 20;

/// Limits by their names, read from a JSON, TOML or YAML document.
///
/// Under each name stands a limit as text (see [`Limit::parse`]) or an object in the wire form, whose `key` is the name
/// unless it says another. The names are at the top of the document, or in a table `limits` of their own, beside which
/// there may be nothing else but a `$schema`. They keep the order of the document. No two may have the same key, and each
/// has to limit something. A document without any name is sound, and has no limits.
///
/// Anchors, aliases and merge keys work in YAML, up to a bound that keeps a small file from becoming a large one.
///
/// ```
/// # #[cfg(feature = "toml")] {
/// use tidegate::config::{Format, Limits};
///
/// let limits = Limits::from_str(
///     r#"
///     [limits]
///     api = "100/minute burst 20"
///     login = { type = "bucket", size = 10, dripRate = 1000 }
///     "#,
///     Format::Toml,
/// )?;
/// assert_eq!(limits["login"].key(), "login");
/// assert_eq!(limits.names().collect::<Vec<_>>(), ["api", "login"]);
///
/// let error = Limits::from_str(r#"{ "login": { "type": "bucket", "size": 0, "color": "red" } }"#, Format::Json).unwrap_err();
/// let paths: Vec<_> = error.errors().iter().map(|fault| fault.path()).collect();
/// assert_eq!(paths, ["login.color", "login.size"]);
/// # }
/// # Ok::<(), tidegate::config::LimitsError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Limits {
    named: Vec<(String, Limit)>,
    indices: HashMap<String, usize>,
}

impl Limits {
    /// Reads a file, in the format that its name ends with: `.json`, `.toml`, `.yaml` or `.yml`.
    ///
    /// # Errors
    /// When the file cannot be read, has another ending or more than 8 MiB, and as [`from_str`](Self::from_str).
    pub fn load(path: impl AsRef<Path>) -> Result<Self, LimitsError> {
        let path = path.as_ref();
        let read = || {
            let format = Format::of(path).ok_or_else(|| Fault::of_text("must end with .json, .toml, .yaml or .yml"))?;
            let mut bytes = Vec::new();
            let file = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
            file.map_err(|error| Fault::of_text(format!("cannot be read: {error}")))?;
            let text = String::from_utf8(bytes).map_err(|error| {
                Fault::of_text(format!("is not UTF-8 from byte {}", error.utf8_error().valid_up_to()))
            })?;
            Ok((text, format))
        };
        let limits = read().map_err(|fault: Fault| vec![fault]).and_then(|(text, format)| Self::read(&text, format));
        limits.map_err(|faults| LimitsError::new(crate::error::excerpt(&path.display().to_string()), faults))
    }

    /// Reads a document in this format.
    ///
    /// # Errors
    /// Every one that there is: a document that is not well formed, with line and column; else all definitions and
    /// invalid fields, each with its path inside the document.
    pub fn from_str(text: &str, format: Format) -> Result<Self, LimitsError> {
        Self::read(text, format).map_err(|faults| LimitsError::new("limits".to_owned(), faults))
    }

    fn read(text: &str, format: Format) -> Result<Self, Vec<Fault>> {
        if text.len() as u64 > LARGEST {
            return Err(vec![Fault::of_text(format!("must be at most {} MiB", LARGEST >> 20))]);
        }
        Self::of(Entry::read(text, format).map_err(|fault| vec![fault])?)
    }

    /// Reads a document that a host language has parsed already; what the bindings use.
    ///
    /// # Errors
    /// Every one that there is, as [`from_str`](Self::from_str).
    pub fn from_entry(document: Entry) -> Result<Self, LimitsError> {
        Self::of(document).map_err(|faults| LimitsError::new("limits".to_owned(), faults))
    }

    fn of(document: Entry) -> Result<Self, Vec<Fault>> {
        let (prefix, named) = named(document)?;
        let (mut limits, mut faults) = (Self::default(), Vec::new());
        let mut keys = HashMap::<String, String>::new();
        for (name, entry) in named {
            let path = join(&prefix, &name);
            if limits.indices.contains_key(&name) {
                faults.push(Fault::new(path, "is given twice"));
                continue;
            }
            limits.indices.insert(name.clone(), limits.named.len());
            match definition(&path, &name, entry) {
                Ok(limit) => {
                    match keys.get(limit.key()) {
                        // They would count in one entry, by two definitions.
                        Some(other) => faults.push(Fault::new(
                            path,
                            format!("has the same key as {other}, \"{}\"", crate::error::excerpt(limit.key())),
                        )),
                        None => drop(keys.insert(limit.key().to_owned(), path)),
                    }
                    limits.named.push((name, limit));
                }
                Err(mut of_definition) => faults.append(&mut of_definition),
            }
        }
        if faults.is_empty() { Ok(limits) } else { Err(faults) }
    }

    /// The limit with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Limit> {
        let index = *self.indices.get(name)?;
        self.named.get(index).map(|(_, limit)| limit)
    }

    /// The names with their limits, in the order of the document.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Limit)> {
        self.named.iter().map(|(name, limit)| (name.as_str(), limit))
    }

    /// The names, in the order of the document.
    #[must_use]
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// The number of limits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.named.len()
    }

    /// True if the document names no limit at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }
}

/// # Panics
/// When there is no limit with this name; [`get`](Limits::get) does not.
impl Index<&str> for Limits {
    type Output = Limit;

    fn index(&self, name: &str) -> &Limit {
        self.get(name).unwrap_or_else(|| panic!("there is no limit named {:?}", crate::error::excerpt(name)))
    }
}

/// More fields than any type has, by far: looking for what is given twice must not take its time.
const MOST_FIELDS: usize = 64;

type Named = Vec<(String, Entry)>;

/// The name under which a document gives the address of its schema to editors; it is never a limit's.
const SCHEMA: &str = "$schema";

fn is_text(entry: &Entry) -> bool {
    matches!(entry, Entry::Value(Value::Text(_)))
}

/// The names with what stands under them, and the path to them.
fn named(document: Entry) -> Result<(String, Named), Vec<Fault>> {
    let Entry::Table(mut named) = document else {
        return Err(vec![Fault::of_text(format!("must be a table of named limits, got {document}"))]);
    };
    if let Some((_, other)) = named.iter().find(|(name, entry)| name == SCHEMA && !is_text(entry)) {
        return Err(vec![Fault::new(SCHEMA.to_owned(), format!("must be text, the address of a schema, got {other}"))]);
    }
    named.retain(|(name, _)| name != SCHEMA);
    let is_limits = |(name, entry): &(String, Entry)| name == "limits" && matches!(entry, Entry::Table(_));
    let Some(index) = named.iter().position(is_limits) else {
        return Ok((String::new(), named));
    };
    let (_, limits) = named.remove(index);
    let beside: Vec<_> = named
        .iter()
        .map(|(name, _)| Fault::new(join("", name), "stands beside limits, which must have all of them"))
        .collect();
    match limits {
        Entry::Table(limits) if beside.is_empty() => Ok(("limits".to_owned(), limits)),
        _ => Err(beside),
    }
}

fn definition(path: &str, name: &str, entry: Entry) -> Result<Limit, Vec<Fault>> {
    let members = match entry {
        Entry::Limit(limit) => return Ok(limit),
        Entry::Value(Value::Text(text)) => {
            return Limit::parse(name, &text).map_err(|error| vec![Fault::of_limit(path.to_owned(), error)]);
        }
        Entry::Value(value @ Value::Malformed) => {
            return Err(vec![Fault::of_limit(path.to_owned(), value.not_text(name, "definition"))]);
        }
        Entry::Value(other) => {
            return Err(vec![Fault::new(path.to_owned(), format!("must be text or a table, got {other}"))]);
        }
        Entry::Table(members) if members.len() > MOST_FIELDS => {
            return Err(vec![Fault::new(path.to_owned(), format!("must have at most {MOST_FIELDS} fields"))]);
        }
        Entry::Table(members) => members,
    };
    let (mut fields, mut faults) = (Vec::<(String, Value)>::with_capacity(members.len() + 1), Vec::new());
    for (field, entry) in members {
        if fields.iter().any(|(known, _)| *known == field) {
            faults.push(Fault::new(join(path, &field), "is given twice"));
        } else {
            fields.push((field, entry.into()));
        }
    }
    let given: Vec<_> = fields.iter().map(|(field, _)| field.clone()).collect();
    if !given.iter().any(|field| field == "key") {
        fields.push(("key".to_owned(), Value::Text(name.to_owned())));
    }
    match Limit::from_fields_checked(fields) {
        Ok(limit) if faults.is_empty() && says_nothing(limit.kind()) => Err(vec![Fault::new(
            path.to_owned(),
            "limits nothing: must have a type, or max and duration, or minInterval",
        )]),
        Ok(limit) if faults.is_empty() => Ok(limit),
        Ok(_) => Err(faults),
        Err(errors) => {
            faults.extend(errors.into_iter().map(|error| {
                // A field that is missing has no value; another that is not there comes of a default or a translation,
                // and then it is the definition that is at fault.
                let known = error.value() == "none" || given.iter().any(|field| field == error.field());
                let path = if known { join(path, error.field()) } else { path.to_owned() };
                Fault::of_limit(path, error)
            }));
            Err(faults)
        }
    }
}

/// Without any field that limits: in a file that is something left out, not a decision to limit nothing.
fn says_nothing(kind: &Kind) -> bool {
    matches!(kind, Kind::Legacy(Legacy { max: None, duration: None, min_interval: None, .. }))
}

/// A path with one name more, quoted where it is not a plain word.
fn join(path: &str, name: &str) -> String {
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-$".contains(&byte));
    let name = if plain { crate::error::excerpt(name) } else { format!("\"{}\"", crate::error::excerpt(name)) };
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
