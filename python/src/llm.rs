//! Tokens of language models: numbers and names translated, nothing decided.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use tidegate::ffi;
use tidegate::limits::Value;
use tidegate::llm::{self, Report, USAGE_FIELDS, USAGE_PLACES};

use crate::args::{self, Arg, number};
use crate::errors::limit_error;
use crate::value;

/// Estimates the output tokens of a call to a language model.
///
/// An estimate is a percentile of the latest calls to the same model for the same purpose.
/// ``max_tokens`` bounds an output, and few outputs come near to it. To reserve it leaves most of a limit unused.
///
/// Of each pair of model and purpose the latest ``window`` calls count, and ``pairs`` pairs are kept: the one that has
/// been recorded longest ago makes room. With fewer than ``least`` calls of a pair there is no estimate. It learns in
/// this process, and threads may share it.
///
/// >>> from tidegate.llm import Estimator
/// >>> estimator = Estimator(percentile=95, least=3)
/// >>> estimator.estimate("gpt-5", "summary", most=4096)
/// 4096
/// >>> for output in (180, 220, 190):
/// ...     estimator.record("gpt-5", "summary", output)
/// >>> estimator.estimate("gpt-5", "summary", most=4096)
/// 220
#[pyclass(frozen, module = "tidegate.llm")]
pub(crate) struct Estimator(Mutex<llm::Estimator>);

#[pymethods]
impl Estimator {
    #[new]
    #[pyo3(
        signature = (*, percentile = Arg(None), window = Arg(None), least = Arg(None), pairs = Arg(None)),
        text_signature = "(*, percentile=95, window=256, least=20, pairs=1000)"
    )]
    fn new(percentile: Arg<'_, '_>, window: Arg<'_, '_>, least: Arg<'_, '_>, pairs: Arg<'_, '_>) -> PyResult<Self> {
        let setting = |name, given: Arg<'_, '_>, default| match given.0 {
            Some(given) => number("", name, &given),
            None => Ok(default),
        };
        let made = ffi::estimator(
            setting("percentile", percentile, 95.0)?,
            setting("window", window, 256.0)?,
            setting("least", least, 20.0)?,
            setting("pairs", pairs, 1000.0)?,
        );
        Ok(Self(Mutex::new(made.map_err(limit_error)?)))
    }

    /// Notes the output tokens of a call that has ended.
    ///
    /// >>> from tidegate.llm import Estimator
    /// >>> Estimator().record("gpt-5", "summary", 180)
    #[pyo3(signature = (model, purpose, output))]
    fn record(&self, model: &Bound<'_, PyAny>, purpose: &Bound<'_, PyAny>, output: &Bound<'_, PyAny>) -> PyResult<()> {
        let (model, purpose) = (args::text("model", model)?, args::text("purpose", purpose)?);
        let output = ffi::count("output", number("", "output", output)?).map_err(limit_error)?;
        self.locked().record(&model, &purpose, output);
        Ok(())
    }

    /// The output tokens to reserve for a call: at most ``most``, and ``most`` while too few calls are recorded.
    ///
    /// >>> from tidegate.llm import Estimator
    /// >>> Estimator().estimate("gpt-5", "summary", most=4096)
    /// 4096
    #[pyo3(signature = (model, purpose, most))]
    fn estimate(&self, model: &Bound<'_, PyAny>, purpose: &Bound<'_, PyAny>, most: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (model, purpose) = (args::text("model", model)?, args::text("purpose", purpose)?);
        let most = ffi::count("most", number("", "most", most)?).map_err(limit_error)?;
        Ok(self.locked().estimate(&model, &purpose, most))
    }

    /// The number of pairs of model and purpose that are kept.
    ///
    /// >>> from tidegate.llm import Estimator
    /// >>> len(Estimator())
    /// 0
    fn __len__(&self) -> usize {
        self.locked().pairs()
    }
}

impl Estimator {
    /// No code of Python's runs under it.
    fn locked(&self) -> MutexGuard<'_, llm::Estimator> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The counts of a response, or of the events of a stream, one after another.
#[pyclass(frozen, name = "_Report", module = "tidegate._tidegate")]
pub(crate) struct UsageReport(Mutex<Report>);

#[pymethods]
impl UsageReport {
    #[new]
    #[pyo3(signature = ())]
    fn new() -> Self {
        Self(Mutex::new(Report::default()))
    }

    /// Notes a count by the name of its field; what is no count is passed over.
    #[pyo3(signature = (field, count, /))]
    fn add(&self, field: &str, count: &Bound<'_, PyAny>) -> PyResult<()> {
        let Value::Number(count) = value::read(count)? else { return Ok(()) };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(field, count);
        Ok(())
    }

    /// The tokens of input, output and cache, and those of input and output together.
    #[pyo3(signature = ())]
    fn usage(&self) -> Option<(u64, u64, u64, u64)> {
        let usage = self.0.lock().unwrap_or_else(PoisonError::into_inner).usage()?;
        Some((usage.input, usage.output, usage.cached, usage.total()))
    }
}

/// Places where a response has its counts, and the names of the counts; a dot leads into an object inside.
#[pyfunction]
#[pyo3(name = "_usage_names", signature = ())]
pub(crate) fn usage_names() -> (Vec<&'static str>, Vec<&'static str>) {
    (USAGE_PLACES.to_vec(), USAGE_FIELDS.to_vec())
}
