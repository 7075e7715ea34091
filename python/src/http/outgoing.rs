//! Responses to an HTTP client, judged.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tidegate::http::{self, Next, OUTGOING_OPTIONS, Reply};
use tidegate::limits::Value;

use super::limit;
use crate::args::Arg;
use crate::errors::{limit_error, snake_case};
use crate::limits::Limit;
use crate::value;

/// The settings of an HTTP client's calls.
#[pyclass(frozen, name = "_Outgoing", module = "tidegate._tidegate")]
pub(crate) struct Outgoing(http::Outgoing);

/// Units to observe, the time to stop all callers, and the time after which to repeat the request.
type Parts = (Vec<(usize, u64)>, Option<u64>, Option<u64>);

#[pymethods]
impl Outgoing {
    /// Takes limits, and options by name; times are seconds.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "as it is extracted")]
    #[pyo3(signature = (limits, /, **options))]
    fn new(limits: Vec<Bound<'_, PyAny>>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let limits = limits.iter().map(|given| Ok(limit(given)?.get().0.clone())).collect::<PyResult<Vec<_>>>()?;
        let mut fields = Vec::new();
        for (name, given) in options.into_iter().flatten() {
            let name: String = name.extract()?;
            let Some(option) = OUTGOING_OPTIONS.into_iter().find(|option| snake_case(option) == name) else {
                return Err(PyTypeError::new_err(format!("got an unexpected keyword argument '{name}'")));
            };
            if option == "retryMethods" && !given.is_none() {
                let before = fields.len();
                for item in given.try_iter()? {
                    fields.push((option.to_owned(), value::read(&item?)?));
                }
                if fields.len() == before {
                    fields.push((option.to_owned(), Value::Other("an empty list".to_owned())));
                }
            } else {
                fields.push((option.to_owned(), value::read(&given)?));
            }
        }
        http::Outgoing::from_fields(limits, fields).map(Self).map_err(limit_error)
    }

    /// The indices of the limits that can be observed.
    #[getter]
    fn observed(&self) -> Vec<usize> {
        self.0.observed()
    }

    /// One of the limits is held until the response has been read.
    #[getter]
    fn holds(&self) -> bool {
        self.0.holds()
    }

    /// The limit that stops all callers.
    #[staticmethod]
    fn stop(py: Python<'_>) -> PyResult<Bound<'_, Limit>> {
        Limit::object(py, http::Outgoing::stop())
    }

    /// Judges a response; ``now`` is milliseconds since the epoch.
    #[expect(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "as they are extracted")]
    #[pyo3(signature = (status, headers, method, attempt, replayable, left, random, now, /))]
    fn judge(
        &self,
        status: u16,
        headers: Vec<(Bound<'_, PyString>, Bound<'_, PyString>)>,
        method: &str,
        attempt: u32,
        replayable: bool,
        left: Vec<u64>,
        random: f64,
        now: Arg<'_, '_>,
    ) -> PyResult<Parts> {
        // A line that is not Unicode, because the client kept its bytes as surrogates, says nothing.
        let text = |(name, value): &(Bound<'_, PyString>, Bound<'_, PyString>)| {
            Some((name.to_cow().ok()?.into_owned(), value.to_cow().ok()?.into_owned()))
        };
        let headers: Vec<(String, String)> = headers.iter().filter_map(text).collect();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let now = now.now("")?;
        let reply = Reply { status, headers: &headers, method, attempt, replayable, left: &left, random, now };
        let Next { remaining, stop_ms, retry_in_ms, .. } = self.0.judge(&reply);
        Ok((remaining, stop_ms, retry_in_ms))
    }
}
