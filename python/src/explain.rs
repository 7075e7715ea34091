//! What the engine says of definitions and of answers, in words.

#![expect(clippy::doc_link_with_quotes, reason = "Python in the examples")]

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use tidegate::Call;

use crate::asked::Part;
use crate::errors::limit_error;
use crate::info::LimitInfo;
use crate::receipt::{Asked, Owner, Receipt};

/// What a definition allows: ``str()`` says it in words, ``to_dict()`` in numbers.
///
/// >>> from tidegate import Bucket
/// >>> print(Bucket("login", size=10).explain())
/// "login" (bucket) admits 10 at once, then 1 per second.
/// At most 11 in any second, 70 in any minute, 3,610 in any hour, 86,410 in any day.
/// A full one that is left alone is as new after 10 s.
#[pyclass(frozen, weakref, module = "tidegate")]
pub(crate) struct Explanation(pub(crate) tidegate::Explanation);

#[pymethods]
impl Explanation {
    /// The numbers, under the names that every language shares; ``None`` is no bound.
    ///
    /// >>> from tidegate import Bucket
    /// >>> Bucket("login", size=10).explain().to_dict()["allowances"][0]["mostInMinute"]
    /// 70
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(py.import("json")?.call_method1("loads", (self.0.to_json(),))?.cast_into::<PyDict>()?)
    }

    /// How pydantic reads and writes it.
    #[classmethod]
    #[pyo3(signature = (source, handler, /))]
    fn __get_pydantic_core_schema__<'py>(
        cls: &Bound<'py, PyType>,
        source: &Bound<'py, PyAny>,
        handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = (source, handler);
        crate::value::pydantic_schema(cls)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Explanation of {}>", self.0.key.as_str().into_pyobject(py)?.repr()?))
    }
}

/// Why a limiter would answer what it would: ``str()`` says it in words.
///
/// >>> from tidegate import Bucket, Limiter
/// >>> limiter, login = Limiter(), Bucket("login", size=10)
/// >>> _ = limiter.limit(login, "ada", cost=3, now=0)
/// >>> standing = limiter.explain(login, "ada", now=600)
/// >>> print(standing)
/// "login" would admit this call: 7 of 10 units are free, the next comes back in 0.4 s, all of them in 2.4 s.
/// >>> standing.info.remaining
/// 7
#[pyclass(frozen, weakref, module = "tidegate")]
pub(crate) struct Standing {
    text: String,
    /// What ``peek`` would have answered.
    #[pyo3(get)]
    info: Py<LimitInfo>,
}

impl Standing {
    /// What a peek at this said, in words.
    pub(crate) fn of(py: Python<'_>, owner: Owner, asked: Asked, info: tidegate::LimitInfo) -> PyResult<Self> {
        let actors: Vec<_> = asked.all().iter().map(|one| one.actor.bind(py).as_any()).collect();
        let parts: Vec<_> =
            asked.all().iter().zip(&actors).map(|(one, actor)| one.part(py, actor)).collect::<PyResult<_>>()?;
        let checks: Vec<_> = parts.iter().map(Part::check).collect();
        let standing = tidegate::CallExplanation::of(&checks, info).map_err(limit_error)?;
        let text = standing.to_string();
        let info = LimitInfo::of(py, Receipt::new(owner, Call::Peek, asked), standing.info)?;
        Ok(Self { text, info: Py::new(py, info)? })
    }
}

#[pymethods]
impl Standing {
    /// How pydantic reads and writes it.
    #[classmethod]
    #[pyo3(signature = (source, handler, /))]
    fn __get_pydantic_core_schema__<'py>(
        cls: &Bound<'py, PyType>,
        source: &Bound<'py, PyAny>,
        handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = (source, handler);
        crate::value::pydantic_schema(cls)
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Standing {}>", self.text.as_str().into_pyobject(py)?.repr()?))
    }
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
