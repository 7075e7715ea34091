//! Answers explained.

use pyo3::prelude::*;
use tidegate::Call;

use crate::check::Checks;
use crate::errors::limit_error;
use crate::info::LimitInfo;
use crate::receipt::{Owner, Receipt};

/// The reasons for an answer of a limiter: in words with ``str()``.
///
/// >>> from tidegate import Bucket, Limiter
/// >>> limiter, login = Limiter(), Bucket("login", size=10)
/// >>> _ = limiter.limit(login, "ada", cost=3, now=0)
/// >>> explanation = limiter.explain(login, "ada", now=600)
/// >>> print(explanation)
/// "login" would admit this call: 7 of 10 units are free, the next comes back in 0.4 s, all of them in 2.4 s.
/// >>> explanation.info.remaining
/// 7
#[pyclass(frozen, weakref, module = "tidegate")]
pub(crate) struct CallExplanation {
    text: String,
    /// The answer that ``peek`` would have given.
    #[pyo3(get)]
    info: Py<LimitInfo>,
}

impl CallExplanation {
    /// The explanation of a peek's answer.
    pub(crate) fn new(py: Python<'_>, owner: Owner, checks: Checks, info: tidegate::LimitInfo) -> PyResult<Self> {
        let explanation =
            checks.with(py, |checks| tidegate::explain::CallExplanation::of(checks, info)).map_err(limit_error)?;
        let text = explanation.to_string();
        let info = LimitInfo::object(py, Receipt::new(owner, Call::Peek, checks), explanation.info)?;
        Ok(Self { text, info: info.unbind() })
    }
}

#[pymethods]
impl CallExplanation {
    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<CallExplanation {}>", self.text.as_str().into_pyobject(py)?.repr()?))
    }
}
