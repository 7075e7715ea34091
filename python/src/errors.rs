//! Errors of the engine as Python exceptions.

use pyo3::PyTypeInfo;
use pyo3::prelude::*;

use crate::signals;

/// Exceptions that are defined in Python, so that type checkers and `pickle` see an ordinary class.
macro_rules! exceptions {
    ($($module:ident.$name:ident,)+) => {
        $(pyo3::import_exception!(tidegate.$module, $name);)+

        /// Imports each class; see [`once`](crate::once).
        pub(crate) fn imported(py: Python<'_>) {
            $($name::type_object(py);)+
        }
    };
}

exceptions! {
    _hold.BlockedError,
    _errors.ClosedError,
    _errors.ConfigurationError,
    _errors.LimitError,
    _errors.LimitsError,
    _errors.StoreError,
    _errors.TidegateError,
}

/// The exception for a bad argument, named as a parameter of Python's: `drip_rate`.
#[cold]
#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
pub(crate) fn limit_error(error: tidegate::LimitError) -> PyErr {
    raised(&error, snake_case(error.field()))
}

/// The exception for a field of a mapping in the wire form, named as it stands there: `dripRate`.
#[cold]
#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
pub(crate) fn wire_error(error: tidegate::LimitError) -> PyErr {
    raised(&error, error.field().to_owned())
}

fn raised(error: &tidegate::LimitError, field: String) -> PyErr {
    let error = tidegate::LimitError::new(error.kind(), error.key(), field, error.problem(), spelled(error.value()));
    let described = (error.to_string(), error.key().to_owned(), error.field().to_owned(), error.value().to_owned());
    LimitError::new_err(described)
}

/// A value as Python spells it; text is in quotes, so it is never one of these.
fn spelled(value: &str) -> &str {
    match value {
        "null" => "None",
        "true" => "True",
        "false" => "False",
        "NaN" => "nan",
        other => other,
    }
}

/// `dripRate` as a parameter of Python's is `drip_rate`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 2);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// The exception for a document, with all that is wrong with it.
#[cold]
#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
pub(crate) fn limits_error(error: tidegate::config::LimitsError) -> PyErr {
    let fault =
        |fault: &tidegate::config::Fault| (fault.path().to_owned(), fault.message(), fault.line(), fault.column());
    LimitsError::new_err((error.to_string(), error.errors().iter().map(fault).collect::<Vec<_>>()))
}

/// The exception for a call that failed.
#[cold]
pub(crate) fn call_error(error: tidegate::Error) -> PyErr {
    match error {
        tidegate::Error::Limit(error) => limit_error(error),
        tidegate::Error::Store(error) => {
            let (failure, server) = (error.failure(), error.server().to_owned());
            let (reason, cause) = (error.reason(), error.cause().map(str::to_owned));
            StoreError::new_err((error.to_string(), failure.name(), server, reason, cause, failure.may_have_happened()))
        }
        other => signals::raised().unwrap_or_else(|| pyo3::exceptions::PyRuntimeError::new_err(other.to_string())),
    }
}

/// The exception for a request that cannot be limited as it is set up.
#[cold]
pub(crate) fn configuration_error(error: tidegate::http::ConfigurationError) -> PyErr {
    let mistake = error.mistake();
    ConfigurationError::new_err((error.to_string(), mistake.code(), mistake.page()))
}

/// The exception for a call of a limiter that is closed.
#[cold]
pub(crate) fn closed() -> PyErr {
    ClosedError::new_err(())
}

/// The exception for an argument of the wrong type.
#[cold]
pub(crate) fn wrong_type(key: &str, field: &str, problem: &str, value: impl std::fmt::Display) -> PyErr {
    limit_error(tidegate::LimitError::new(tidegate::ErrorKind::Type, key, field, problem, value))
}
