//! Files and texts of named limits.

use napi::bindgen_prelude::{Either3, Unknown};
use napi_derive::napi;
use tidegate::config::{Format, Limits, LimitsError};
use tidegate::ffi::{self, Entry};

use crate::errors::{Answered, Failure};
use crate::limits::Made;
use crate::registry;
use crate::text::text;
use crate::units::string;
use crate::value::value;

/// Limits by their names, in the order of the document.
#[napi(object, object_from_js = false)]
pub(crate) struct Document {
    /// The names.
    pub names: Vec<String>,
    /// The limits, one for each name.
    pub limits: Vec<Made>,
}

/// Every fault of a document.
#[napi(object, object_from_js = false)]
pub(crate) struct DocumentFailure {
    /// The whole text.
    pub message: String,
    /// Each error, in the order of the document.
    pub errors: Vec<Fault>,
}

/// A fault of a document.
#[napi(object, object_from_js = false)]
pub(crate) struct Fault {
    /// The place inside the document, or empty.
    pub path: String,
    /// The problem.
    pub message: String,
    /// The line of a syntax error, counted from 1.
    pub line: Option<f64>,
    /// The column of a syntax error, counted from 1.
    pub column: Option<f64>,
}

/// Reads a file.
#[napi(catch_unwind)]
pub(crate) fn load_limits(path: Unknown<'_>) -> Either3<Document, DocumentFailure, Failure> {
    match text(&path, "", "path") {
        Ok(path) => answer(Limits::load(path)),
        Err(failure) => Either3::C(*failure),
    }
}

/// Reads a text in the format that a file with this ending would have.
#[napi(catch_unwind)]
pub(crate) fn read_limits(document: Unknown<'_>, format: Unknown<'_>) -> Either3<Document, DocumentFailure, Failure> {
    let read = || -> Answered<_> {
        let document = text(&document, "", "text")?;
        let format = text(&format, "", "format")?.parse::<Format>()?;
        Ok(Limits::from_str(&document, format))
    };
    read().map_or_else(|failure| Either3::C(*failure), answer)
}

/// Reads a document that JavaScript has taken apart: each entry before what it holds, with its name, its value, and how
/// many entries it holds itself (-1: none, it is a value; -2: none, it is the number of a limit).
#[napi(catch_unwind)]
pub(crate) fn limits_from_entries(
    names: Vec<Unknown<'_>>,
    values: Vec<Unknown<'_>>,
    counts: Vec<i32>,
) -> napi::Result<Either3<Document, DocumentFailure, Failure>> {
    let Some(names) = names.iter().map(string).collect::<Option<Vec<_>>>() else {
        return Ok(Either3::C(*Box::<Failure>::from(ffi::malformed_name())));
    };
    let mut flat = names.into_iter().zip(values).zip(counts);
    let Some((_, document)) = entry(&mut flat)? else { return Ok(Either3::C(*Failure::internal("no entries"))) };
    Ok(answer(Limits::from_entry(document)))
}

fn entry<'a>(flat: &mut impl Iterator<Item = ((String, Unknown<'a>), i32)>) -> napi::Result<Option<(String, Entry)>> {
    let Some(((name, given), count)) = flat.next() else { return Ok(None) };
    let given = value(&given)?;
    let limit = match given {
        tidegate::limits::Value::Number(handle) if count == -2 => {
            registry::with(|registry| registry.limits.get(handle).cloned())
        }
        _ => None,
    };
    if let Some(limit) = limit {
        return Ok(Some((name, Entry::Limit(limit))));
    }
    if count < 0 {
        return Ok(Some((name, Entry::Value(given))));
    }
    // Three levels at most: JavaScript takes nothing apart below a definition's fields.
    let members = (0..count).map_while(|_| entry(flat).transpose()).collect::<napi::Result<_>>()?;
    Ok(Some((name, Entry::Table(members))))
}

fn answer(read: Result<Limits, LimitsError>) -> Either3<Document, DocumentFailure, Failure> {
    match read {
        Ok(limits) => Either3::A(Document {
            names: limits.names().map(str::to_owned).collect(),
            limits: limits.iter().map(|(_, limit)| Made::new(limit)).collect(),
        }),
        Err(error) => Either3::B(DocumentFailure {
            message: error.to_string(),
            errors: error
                .errors()
                .iter()
                .map(|fault| Fault {
                    path: fault.path().to_owned(),
                    message: fault.message(),
                    line: fault.line().map(|line| line as f64),
                    column: fault.column().map(|column| column as f64),
                })
                .collect(),
        }),
    }
}
