//! Documents of named limits.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate::{Format, Limits};

use crate::args;
use crate::errors::limits_error;
use crate::limits::Limit;

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
    let format = match format.as_ref() {
        "json" => Format::Json,
        "toml" => Format::Toml,
        "yaml" => Format::Yaml,
        _ => {
            let given = format!("{format:.20?}");
            return Err(args::refused("", "format", "must be \"json\", \"toml\" or \"yaml\"", given));
        }
    };
    let limits = Limits::from_str(&args::text("text", text)?, format).map_err(limits_error)?;
    named(text.py(), &limits)
}

fn named<'py>(py: Python<'py>, limits: &Limits) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    for (name, limit) in limits.iter() {
        named.set_item(name, Limit::object(py, limit.clone())?)?;
    }
    Ok(named)
}
