//! Language models: the tokens that a response says were used, and an estimate of those that the next one will use. No
//! I/O, and no client.
//!
//! ```
//! use tidegate::llm::{Estimator, Report};
//!
//! let mut estimator = Estimator::default();
//! let mut report = Report::default();
//! for (field, count) in [("prompt_tokens", 12.0), ("completion_tokens", 80.0)] {
//!     report.add(field, count);
//! }
//! let usage = report.usage().unwrap();
//! assert_eq!((usage.input, usage.output, usage.total()), (12, 80, 92));
//! estimator.record("gpt-5", "summary", usage.output);
//! ```

mod estimator;
mod usage;
mod window;

pub use estimator::{Estimator, EstimatorBuilder};
pub use usage::{Report, USAGE_FIELDS, USAGE_PLACES, Usage};
