//! Definitions explained.

#![expect(clippy::doc_link_with_quotes, reason = "Python in the examples")]

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The allowance of a definition: in words with ``str()``, in numbers with ``to_dict()``.
///
/// >>> from tidegate import Bucket
/// >>> print(Bucket("login", size=10).explain())
/// "login" (bucket) admits 10 at once, then 1 per second.
/// At most 10 in any second, 69 in any minute, 3,609 in any hour, 86,409 in any day.
/// A full entry empties in 10 s.
#[pyclass(frozen, weakref, module = "tidegate")]
pub(crate) struct Explanation(pub(crate) tidegate::explain::Explanation);

#[pymethods]
impl Explanation {
    /// The numbers, under the names that every language shares; ``None`` is no bound.
    ///
    /// >>> from tidegate import Bucket
    /// >>> Bucket("login", size=10).explain().to_dict()["allowances"][0]["mostInMinute"]
    /// 69
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(py.import("json")?.call_method1("loads", (self.0.to_json(),))?.cast_into::<PyDict>()?)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Explanation of {}>", self.0.key.as_str().into_pyobject(py)?.repr()?))
    }
}
