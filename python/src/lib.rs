//! The engine for Python: types and errors translated, nothing decided.

mod args;
mod errors;
mod info;
mod limiter;
mod limits;
mod literals;
mod value;

/// The native part of `tidegate`, which is what to import.
// Claims nothing yet of interpreters without a global lock: nobody has run it on one.
#[pyo3::pymodule(gil_used = true)]
mod _tidegate {
    #[pymodule_export]
    use super::info::{LimitInfo, remake};
    #[pymodule_export]
    use super::limiter::Limiter;
    #[pymodule_export]
    use super::limits::{Bucket, FixedWindow, Legacy, Limit, TokenBucket};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "how Python spells it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
