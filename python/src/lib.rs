//! The engine for Python: types and errors translated, nothing decided.

mod args;
mod asked;
mod document;
mod errors;
mod explain;
mod info;
mod limiter;
mod limits;
mod literals;
mod receipt;
mod settle;
mod turn;
mod value;

/// The native part of `tidegate`, which is what to import.
// Claims nothing yet of interpreters without a global lock: nobody has run it on one.
#[pyo3::pymodule(gil_used = true)]
mod _tidegate {
    #[pymodule_export]
    use super::document::{load, read};
    #[pymodule_export]
    use super::explain::{Explanation, Standing, json_schema};
    #[pymodule_export]
    use super::info::{LimitInfo, remake};
    #[pymodule_export]
    use super::limiter::Limiter;
    #[pymodule_export]
    use super::limits::{
        Bucket, Decay, FixedWindow, Legacy, Limit, SlidingCounter, SlidingLog, SlidingWindow, Smooth, TokenBucket,
    };
    #[pymodule_export]
    use super::turn::Turn;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "how Python spells it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
