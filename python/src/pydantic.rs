//! The hook by which pydantic reads and writes the classes of this package.

use pyo3::prelude::*;
use pyo3::types::PyType;

const HOOK: &str = "__get_pydantic_core_schema__";

/// Adds the hook to each class that has one; the classes of definitions inherit it.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let hook = py.import("builtins")?.getattr("classmethod")?.call1((wrap_pyfunction!(schema, module)?,))?;
    for class in ["Explanation", "Limit", "LimitInfo", "CallExplanation"] {
        module.getattr(class)?.setattr(HOOK, &hook)?;
    }
    Ok(())
}

/// The schema of a class, for pydantic.
#[pyfunction]
#[pyo3(name = "__get_pydantic_core_schema__", signature = (cls, source, handler, /))]
fn schema<'py>(
    cls: &Bound<'py, PyType>,
    source: &Bound<'py, PyAny>,
    handler: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _ = (source, handler);
    cls.py().import("tidegate._pydantic")?.call_method1("schema", (cls,))
}
