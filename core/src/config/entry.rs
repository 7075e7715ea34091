//! Entries of a document: a name and its limit.

use std::fmt;

use crate::error::excerpt;
use crate::limit::{Limit, Value};

/// The value under a name, in a document or as a host language hands it over, before anything is checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Entry {
    /// A limit as text, or the value of a field.
    Value(Value),
    /// Named entries in their order, in which a name that comes twice is there twice.
    Table(Vec<(String, Entry)>),
    /// Entries without names, such as overrides.
    List(Vec<Entry>),
    /// A limit that was made before.
    Limit(Limit),
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A document may be one long text.
            Self::Value(Value::Text(text)) => write!(f, "\"{}\"", excerpt(text)),
            Self::Value(value) => value.fmt(f),
            Self::Table(_) => f.write_str("a table"),
            Self::List(_) => f.write_str("an array"),
            Self::Limit(_) => f.write_str("a limit"),
        }
    }
}

/// A definition is flat: what is a table in it is of no field's type.
impl From<Entry> for Value {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::Value(value) => value,
            Entry::Table(_) => Self::Other("an object".to_owned()),
            Entry::List(_) => Self::Other("an array".to_owned()),
            Entry::Limit(_) => Self::Other("a limit".to_owned()),
        }
    }
}
