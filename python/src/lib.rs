//! The engine for Python: types and errors translated, nothing decided.

#![deny(clippy::disallowed_methods, clippy::incompatible_msrv)]

mod args;
mod asked;
mod begin;
mod bridge;
mod document;
mod errors;
mod explain;
mod green;
mod http;
mod info;
mod limiter;
mod limits;
mod literals;
mod mailbox;
mod notes;
mod numbers;
mod receipt;
mod settle;
mod signals;
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
    use super::http::{Gate, Refusal, combine, forget, mistakes, parse_headers};
    #[pymodule_export]
    use super::info::{LimitInfo, remake};
    #[pymodule_export]
    use super::limiter::Limiter;
    #[pymodule_export]
    use super::limits::Limit;
    #[pymodule_export]
    use super::notes::{end, notes};
    #[pymodule_export]
    use super::store::option_names;
    #[pymodule_export]
    use super::turn::Turn;
    #[pymodule_export]
    use super::waiting::Waiting;

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        super::claim_interpreter()?;
        tidegate::ffi::while_waiting(super::signals::handle);
        super::limits::add(module)
    }

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "how Python spells it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Refuses a second interpreter in one process: objects of the first one would be mixed with its own.
fn claim_interpreter() -> pyo3::PyResult<()> {
    static FIRST: std::sync::OnceLock<i64> = std::sync::OnceLock::new();
    #[expect(unsafe_code, reason = "no safe way to ask which interpreter runs; both calls only read")]
    // SAFETY: the thread is attached to an interpreter, which is importing this module.
    let current = unsafe { pyo3::ffi::PyInterpreterState_GetID(pyo3::ffi::PyInterpreterState_Get()) };
    if *FIRST.get_or_init(|| current) == current {
        return Ok(());
    }
    Err(pyo3::exceptions::PyImportError::new_err(
        "tidegate is loaded in another interpreter of this process, and works in one only: run each application in a \
         process of its own (mod_wsgi: application-group=%{GLOBAL})",
    ))
}

/// What a forked child does first: nothing of its parent's threads and connections is its own.
#[pyo3::pyfunction]
#[pyo3(name = "_after_fork", signature = ())]
fn after_fork() {
    tidegate::after_fork();
    notes::after_fork();
    bridge::after_fork();
}
