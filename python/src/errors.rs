//! Errors of the engine as Python exceptions.

use pyo3::prelude::*;

// Defined in Python, so that type checkers and `pickle` see an ordinary class.
pyo3::import_exception!(tidegate._errors, LimitError);
pyo3::import_exception!(tidegate._errors, LimitsError);
pyo3::import_exception!(tidegate._errors, StoreError);

/// The exception for something that a limit, a cost, a factor or a time cannot be.
#[cold]
#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
pub(crate) fn limit_error(error: tidegate::LimitError) -> PyErr {
    let described = (error.to_string(), error.key().to_owned(), error.field().to_owned(), error.value().to_owned());
    LimitError::new_err(described)
}

/// The exception for a document, with all that is wrong with it.
#[cold]
#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
pub(crate) fn limits_error(error: tidegate::LimitsError) -> PyErr {
    let fault = |fault: &tidegate::Fault| (fault.path().to_owned(), fault.message(), fault.line(), fault.column());
    LimitsError::new_err((error.to_string(), error.errors().iter().map(fault).collect::<Vec<_>>()))
}

/// The exception for whatever a call can fail with.
#[cold]
pub(crate) fn call_error(error: tidegate::Error) -> PyErr {
    match error {
        tidegate::Error::Limit(error) => limit_error(error),
        tidegate::Error::Store(error) => {
            let cause = error.cause().map(str::to_owned);
            let said = (error.server().to_owned(), error.reason(), cause);
            StoreError::new_err((error.to_string(), error.failure().name(), said.0, said.1, said.2))
        }
        other => pyo3::exceptions::PyRuntimeError::new_err(other.to_string()),
    }
}

/// The exception for an argument of the wrong type.
#[cold]
pub(crate) fn wrong_type(key: &str, field: &str, problem: &str, value: impl std::fmt::Display) -> PyErr {
    limit_error(tidegate::LimitError::new(tidegate::ErrorKind::Type, key, field, problem, value))
}
