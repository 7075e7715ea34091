//! Documents of named limits, and the schema for them.

#![expect(clippy::doc_link_with_quotes, reason = "Python in the examples")]

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use tidegate::config::{Format, Limits};
use tidegate::ffi::{self, Entry};

use crate::args;
use crate::errors::{limit_error, limits_error, wrong_type};
use crate::limits::{Limit, items};
use crate::value;

/// The limits in a file, by their names.
#[pyfunction]
#[pyo3(name = "_load_limits", signature = (path, /))]
#[expect(clippy::needless_pass_by_value, reason = "what Python's path becomes")]
pub(crate) fn load(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let limits = py.detach(|| Limits::load(&path)).map_err(limits_error)?;
    named(py, &limits)
}

/// The limits in a document, by their names.
#[pyfunction]
#[pyo3(name = "_read_limits", signature = (text, format, /))]
pub(crate) fn read<'py>(text: &Bound<'py, PyAny>, format: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let format = args::text("format", format)?;
    let format = format.parse::<Format>().map_err(limit_error)?;
    let limits = Limits::from_str(&args::text("text", text)?, format).map_err(limits_error)?;
    named(text.py(), &limits)
}

/// The limits in a document that is a dict already, by their names.
#[pyfunction]
#[pyo3(name = "_limits_from_dict", signature = (named, /))]
pub(crate) fn from_dict<'py>(named: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let limits = Limits::from_entry(entry(named, 0)?).map_err(limits_error)?;
    self::named(named.py(), &limits)
}

/// A definition in a table of its own is the third level; below it nothing is looked at, so a dict may hold itself.
const DEEPEST: u8 = 3;

fn entry(object: &Bound<'_, PyAny>, depth: u8) -> PyResult<Entry> {
    if let Ok(limit) = object.cast::<Limit>() {
        return Ok(Entry::Limit(limit.get().0.clone()));
    }
    if object.cast::<PyMapping>().is_err() {
        return value::read(object).map(Entry::Value);
    }
    if depth >= DEEPEST {
        return Ok(Entry::Table(Vec::new()));
    }
    let read = |(name, object): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let Ok(name) = name.cast::<PyString>() else {
            return Err(wrong_type("", "limits", "must have strings as names", value::describe(&name)));
        };
        let name = name.to_cow().map_err(|_| limit_error(ffi::malformed_name()))?;
        Ok((name.into_owned(), entry(&object, depth + 1)?))
    };
    items(object, "limits")?.into_iter().map(read).collect::<PyResult<_>>().map(Entry::Table)
}

fn named<'py>(py: Python<'py>, limits: &Limits) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    for (name, limit) in limits.iter() {
        named.set_item(name, Limit::object(py, limit.clone())?)?;
    }
    Ok(named)
}

/// The JSON Schema (draft 2020-12) of the wire form, as JSON text, for editors and other validators.
///
/// Its ``$defs`` have a document of named limits, as ``Limits`` reads it, under ``limits``.
///
/// >>> import json
/// >>> from tidegate import json_schema
/// >>> json.loads(json_schema())["$defs"]["bucket"]["properties"]["dripRate"]["default"]
/// 1000
#[pyfunction]
pub(crate) fn json_schema() -> String {
    tidegate::Limit::json_schema()
}
