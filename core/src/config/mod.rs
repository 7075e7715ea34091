//! Definitions as data: a file of named limits, checked as a whole.

mod definition;
mod document;
#[cfg(feature = "cli")]
mod edit;
mod entry;
mod error;
mod file;
mod overrides;
mod path;
mod pattern;
#[cfg(feature = "cli")]
mod places;
mod watch;
mod watched;
mod wire;

use std::collections::HashMap;
use std::ops::Index;
use std::path::Path;

pub use document::Format;
#[cfg(feature = "cli")]
pub(crate) use edit::{edited, is_editable};
pub use entry::Entry;
pub use error::{Fault, LimitsError};
pub(crate) use file::LARGEST;
pub(crate) use overrides::MOST_OVERRIDES;
pub use overrides::Override;
#[cfg(feature = "cli")]
pub(crate) use places::Places;
pub use watch::Watch;
pub use watched::{Change, Watched};

use crate::check::Check;
use crate::limit::{Limit, Value};
use definition::definition;
use file::Source;
use overrides::{Known, Overrides};
use path::join;

/// Limits by their names, read from a JSON, TOML or YAML document.
///
/// Under each name stands a limit as text (see [`Limit::parse`]) or an object in the wire form, whose `key` is the name
/// unless it says another. The names are at the top of the document, or in a table `limits` of their own, beside which
/// there may be nothing else but `overrides` and a `$schema`. They keep the order of the document. No two may have the same key, and each
/// has to limit something. A document without any name is sound, and has no limits.
///
/// `overrides` is a list of other allowances for single actors. Each entry has an `actor`, or a `pattern` in which `*` stands
/// for any characters; the name of a `limit`, unless it is for all; and one of three effects: a `factor`, a `definition` in
/// place of the limit, or `unlimited = true`. The first entry that concerns a limit and an actor holds: see
/// [`check`](Self::check).
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
    overrides: Overrides,
}

impl Limits {
    /// Reads a file, in the format that its name ends with: `.json`, `.toml`, `.yaml` or `.yml`.
    ///
    /// # Errors
    /// When the file cannot be read, has another ending or more than 8 MiB, and as [`from_str`](Self::from_str).
    pub fn load(path: impl AsRef<Path>) -> Result<Self, LimitsError> {
        let source = Source::new(path.as_ref());
        let limits = source.read().map_err(|fault| vec![fault]).and_then(|(text, format)| Self::read(&text, format));
        limits.map_err(|faults| source.error(faults))
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
        let Parts { prefix, named, overrides } = named(document)?;
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
        // Of limits that are wrong, an override can only be said to name one.
        let known = if faults.is_empty() { limits.named.as_slice() } else { &[] };
        match Overrides::read(overrides, &Known { named: known, indices: &limits.indices }) {
            Ok(overrides) => limits.overrides = overrides,
            Err(mut wrong) => faults.append(&mut wrong),
        }
        if faults.is_empty() { Ok(limits) } else { Err(faults) }
    }

    /// The limit with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Limit> {
        let index = *self.indices.get(name)?;
        self.named.get(index).map(|(_, limit)| limit)
    }

    /// The check of a limit for an actor, at cost 1: with the definition and the factor of the first
    /// [override](Override) that concerns both, or else as the limit stands; nothing where no limit has this name.
    ///
    /// ```
    /// # #[cfg(feature = "toml")] {
    /// use tidegate::config::{Format, Limits};
    /// use tidegate::{Call, Limiter, Memory};
    ///
    /// let limits = Limits::from_str(
    ///     r#"
    ///     api = "100/minute"
    ///
    ///     [[overrides]]
    ///     actor = "acme"
    ///     limit = "api"
    ///     definition = "5000/minute"
    ///
    ///     [[overrides]]
    ///     pattern = "team-*"
    ///     factor = 0.5
    ///     "#,
    ///     Format::Toml,
    /// )?;
    /// let limiter = Limiter::new(Memory::new());
    /// for (actor, remaining) in [("ada", 99), ("acme", 4999), ("team-7", 199)] {
    ///     let check = limits.check("api", actor).expect("a limit of this name");
    ///     assert_eq!(limiter.decide_sync(&[check], Call::Limit)?.remaining, remaining);
    /// }
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn check<'a>(&'a self, name: &str, actor: &'a str) -> Option<Check<'a>> {
        self.check_of(*self.indices.get(name)?, actor)
    }

    /// The [checks](Self::check) of all limits for an actor, in the order of the document.
    pub fn checks<'a>(&'a self, actor: &'a str) -> impl Iterator<Item = Check<'a>> {
        (0..self.named.len()).filter_map(move |number| self.check_of(number, actor))
    }

    fn check_of<'a>(&'a self, number: usize, actor: &'a str) -> Option<Check<'a>> {
        let (_, limit) = self.named.get(number)?;
        let found = self.overrides.find(number, actor).and_then(|at| self.overrides().get(at));
        let limit = found.and_then(Override::definition).unwrap_or(limit);
        Some(Check::new(limit, actor).factor(found.map_or(1.0, Override::factor)))
    }

    /// The number of the override that concerns this limit and actor, and its factor; what the bindings use.
    #[doc(hidden)]
    #[must_use]
    pub fn overriding(&self, name: &str, actor: &str) -> Option<(usize, f64)> {
        let at = self.overrides.find(*self.indices.get(name)?, actor)?;
        Some((at, self.overrides().get(at)?.factor()))
    }

    /// The overrides, in the order of the document: the first that concerns a limit and an actor holds.
    #[must_use]
    pub fn overrides(&self) -> &[Override] {
        self.overrides.each()
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

/// A document, taken apart.
struct Parts {
    /// The path to the names.
    prefix: String,
    named: Vec<(String, Entry)>,
    overrides: Vec<Entry>,
}

/// The name under which a document gives the address of its schema to editors; it is never a limit's.
const SCHEMA: &str = "$schema";
/// The name under which a document has a list of overrides.
const OVERRIDES: &str = "overrides";

fn is_text(entry: &Entry) -> bool {
    matches!(entry, Entry::Value(Value::Text(_)))
}

/// The names with what stands under them, and the overrides beside them.
fn named(document: Entry) -> Result<Parts, Vec<Fault>> {
    let Entry::Table(mut named) = document else {
        return Err(vec![Fault::of_text(format!("must be a table of named limits, got {document}"))]);
    };
    if let Some((_, other)) = named.iter().find(|(name, entry)| name == SCHEMA && !is_text(entry)) {
        return Err(vec![Fault::new(SCHEMA.to_owned(), format!("must be text, the address of a schema, got {other}"))]);
    }
    named.retain(|(name, _)| name != SCHEMA);
    // A limit may be called so, too, but a limit is no list.
    let is_list = |(name, entry): &(String, Entry)| name == OVERRIDES && matches!(entry, Entry::List(_));
    let overrides = match named.iter().position(is_list).map(|index| named.remove(index)) {
        Some((_, Entry::List(overrides))) => overrides,
        _ => Vec::new(),
    };
    let is_limits = |(name, entry): &(String, Entry)| name == "limits" && matches!(entry, Entry::Table(_));
    let Some(index) = named.iter().position(is_limits) else {
        return Ok(Parts { prefix: String::new(), named, overrides });
    };
    let (_, limits) = named.remove(index);
    let beside: Vec<_> = named
        .iter()
        .map(|(name, _)| Fault::new(join("", name), "stands beside limits, which must have all of them"))
        .collect();
    match limits {
        Entry::Table(named) if beside.is_empty() => Ok(Parts { prefix: "limits".to_owned(), named, overrides }),
        _ => Err(beside),
    }
}
