//! The command `tidegate`, which is the engine's.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Run the command with the arguments behind its name, and return its exit code.
#[pyfunction]
#[pyo3(name = "_command", signature = (arguments, /))]
pub(crate) fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| tidegate::command::run(arguments))
}
