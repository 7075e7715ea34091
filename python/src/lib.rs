//! The engine for Python: types and errors translated, nothing decided.

#![deny(clippy::disallowed_methods, clippy::incompatible_msrv)]

use pyo3::PyTypeInfo;
use pyo3::types::{PyAnyMethods, PyDelta, PyMapping, PyTuple, PyType, PyTypeMethods};

mod aio;
mod args;
mod async_calls;
mod cache;
mod call_explanation;
mod check;
mod command;
mod document;
mod errors;
mod exit;
mod explanation;
mod http;
mod hub;
mod info;
mod limiter;
mod limits;
mod llm;
mod log_queue;
mod once;
mod options;
mod pydantic;
mod queue;
mod receipt;
mod renewals;
mod request;
mod signals;
mod socket_pair;
mod stats;
mod steps;
mod value;

/// The native part of `tidegate`; import that.
// Not run under a thread sanitizer without a global lock, so interpreters that have none take theirs back.
#[pyo3::pymodule(gil_used = true)]
mod _tidegate {
    #[pymodule_export]
    use super::after_fork;
    #[pymodule_export]
    use super::aio::AcquireHandle;
    #[pymodule_export]
    use super::async_calls::AsyncCalls;
    #[pymodule_export]
    use super::call_explanation::CallExplanation;
    #[pymodule_export]
    use super::command::run;
    #[pymodule_export]
    use super::document::{Document, Watched, from_dict, json_schema, load, read};
    #[pymodule_export]
    use super::exit::exiting;
    #[pymodule_export]
    use super::explanation::Explanation;
    #[pymodule_export]
    use super::http::{
        Denials, Gate, Names, Outgoing, Plan, Refusal, TrialCounts, client_of, counted_twice, forget, key_of,
        mistake_page, mistakes, parse_headers, request_error, request_error_parts, route_name, template,
    };
    #[pymodule_export]
    use super::imported;
    #[pymodule_export]
    use super::info::{LimitInfo, from_pickle};
    #[pymodule_export]
    use super::limiter::{Held, Hold, Limiter};
    #[pymodule_export]
    use super::limits::Limit;
    #[pymodule_export]
    use super::llm::{Estimator, UsageReport, usage_names};
    #[pymodule_export]
    use super::log_queue::{end_log, take_log_records};
    #[pymodule_export]
    use super::options::option_names;
    #[pymodule_export]
    use super::renewals::Renewals;
    #[pymodule_export]
    use super::steps::AcquireSteps;

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        super::claim_interpreter()?;
        tidegate::ffi::while_waiting(super::signals::handle);
        super::limits::add(module)?;
        super::pydantic::add(module)
    }

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "as Python spells it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    const _APP: &str = tidegate::http::APP;
    #[pymodule_export]
    const _CANDIDATE: &str = tidegate::http::CANDIDATE;
}

/// Refuses a second interpreter in one process: it would get objects of the first one.
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

/// Make now what the library of the bindings keeps in cells of its own; the end of the import.
#[pyo3::pyfunction]
#[pyo3(name = "_imported", signature = ())]
fn imported(py: pyo3::Python<'_>) -> pyo3::PyResult<()> {
    // No fork may find such a cell locked: see `once.rs`.
    PyDelta::type_object(py);
    PyMapping::type_object(py);
    PyTuple::empty(py).try_iter()?.size_hint();
    PyType::new::<PyTuple>(py).name()?;
    errors::imported(py);
    Ok(())
}

/// Drop what belongs to the threads and connections of the parent; the first call in a forked child.
#[pyo3::pyfunction]
#[pyo3(name = "_after_fork", signature = ())]
fn after_fork() {
    exit::after_fork();
    tidegate::remote::after_fork();
    log_queue::after_fork();
    aio::after_fork();
    limiter::after_fork();
}
