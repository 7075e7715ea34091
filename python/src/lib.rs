//! The engine for Python: types and errors translated, nothing decided.

#![deny(clippy::disallowed_methods, clippy::incompatible_msrv)]

mod args;
mod asked;
mod begin;
mod bridge;
mod document;
mod errors;
mod explain;
mod info;
mod limiter;
mod limits;
mod literals;
mod mailbox;
mod notes;
mod receipt;
mod settle;
mod stats;
mod store;
mod turn;
mod value;
mod waiting;

/// The native part of `tidegate`, which is what to import.
// Claims nothing yet of interpreters without a global lock: nobody has run it on one.
#[pyo3::pymodule(gil_used = true)]
mod _tidegate {
    #[pymodule_export]
    use super::after_fork;
    #[pymodule_export]
    use super::begin::{begin, begin_acquire, begin_all, begin_explain, begin_refund, begin_reset, begin_settle};
    #[pymodule_export]
    use super::bridge::Bridge;
    #[pymodule_export]
    use super::document::{from_dict, load, read};
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
    use super::notes::{end, notes};
    #[pymodule_export]
    use super::store::option_names;
    #[pymodule_export]
    use super::turn::Turn;
    #[pymodule_export]
    use super::waiting::Waiting;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "how Python spells it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// What a forked child does first: nothing of its parent's threads and connections is its own.
#[pyo3::pyfunction]
#[pyo3(name = "_after_fork", signature = ())]
fn after_fork() {
    tidegate::after_fork();
    notes::after_fork();
    bridge::after_fork();
}
