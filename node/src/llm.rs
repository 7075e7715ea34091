//! Tokens of language models: numbers and names translated, nothing decided.

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use tidegate::ffi;
use tidegate::llm::{self, Report, USAGE_FIELDS, USAGE_PLACES};

use crate::errors::{Answered, Failure};

/// An estimator of output tokens.
#[napi]
pub(crate) struct Estimator(llm::Estimator);

#[napi]
#[expect(unreachable_pub, reason = "napi takes no others")]
impl Estimator {
    /// Notes the output tokens of a call that has ended.
    #[napi(catch_unwind)]
    pub fn record(&mut self, model: String, purpose: String, output: f64) -> Option<Failure> {
        let noted = ffi::count("output", output).map(|output| self.0.record(&model, &purpose, output));
        noted.err().map(|error| *Box::<Failure>::from(error))
    }

    /// The output tokens to reserve for a call.
    #[napi(catch_unwind)]
    pub fn estimate(&self, model: String, purpose: String, most: f64) -> Either<f64, Failure> {
        let estimated = ffi::count("most", most).map(|most| self.0.estimate(&model, &purpose, most));
        estimated.map_or_else(|error| Either::B(*Box::<Failure>::from(error)), |tokens| Either::A(tokens as f64))
    }

    /// The number of pairs of model and purpose that are kept.
    #[napi(catch_unwind)]
    pub fn pairs(&self) -> f64 {
        self.0.pairs() as f64
    }
}

/// An estimator without records.
#[napi(catch_unwind)]
pub(crate) fn make_estimator(percentile: f64, window: f64, least: f64, pairs: f64) -> Either<Estimator, Failure> {
    let made: Answered<_> = ffi::estimator(percentile, window, least, pairs).map_err(Into::into);
    made.map_or_else(|failure| Either::B(*failure), |made| Either::A(Estimator(made)))
}

/// Tokens of one call.
#[napi(object, object_from_js = false)]
pub(crate) struct Usage {
    /// Input.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input from a cache.
    pub cached: f64,
    /// Input and output.
    pub total: f64,
}

/// The tokens by the counts of a response, by the names of their fields.
#[napi(catch_unwind)]
pub(crate) fn usage_of(fields: Vec<String>, counts: Vec<f64>) -> Option<Usage> {
    let mut report = Report::default();
    for (field, count) in fields.iter().zip(counts) {
        report.add(field, count);
    }
    report.usage().map(|usage| Usage {
        input: usage.input as f64,
        output: usage.output as f64,
        cached: usage.cached as f64,
        total: usage.total() as f64,
    })
}

/// Places where a response has its counts.
#[napi]
pub(crate) fn usage_places() -> Vec<&'static str> {
    USAGE_PLACES.to_vec()
}

/// Names of the counts.
#[napi]
pub(crate) fn usage_fields() -> Vec<&'static str> {
    USAGE_FIELDS.to_vec()
}
