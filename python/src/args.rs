//! The arguments of a call.

use std::borrow::Cow;
use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use tidegate::{Micros, Value, host};

use crate::errors::{limit_error, wrong_type};
use crate::value;

/// An optional argument, read only once it is known which limit an error would have to name.
///
/// Unlike an `Option`, it tells `None` from nothing.
#[derive(Clone, Copy)]
pub(crate) struct Arg<'a, 'py>(pub(crate) Option<Borrowed<'a, 'py, PyAny>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Arg<'a, 'py> {
    type Error = std::convert::Infallible;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> Result<Self, Self::Error> {
        Ok(Self(Some(object)))
    }
}

impl Arg<'_, '_> {
    pub(crate) fn is_none(self) -> bool {
        self.0.is_none_or(|object| object.is_none())
    }

    #[inline]
    pub(crate) fn cost(self, key: &str) -> PyResult<u64> {
        self.0.map_or(Ok(1), |object| host::cost(key, number(key, "cost", &object)?).map_err(limit_error))
    }

    #[inline]
    pub(crate) fn factor(self, key: &str) -> PyResult<f64> {
        self.0.map_or(Ok(1.0), |object| number(key, "factor", &object))
    }

    /// The caller's instant; `None` leaves it to the clock.
    #[inline]
    pub(crate) fn now(self, key: &str) -> PyResult<Option<Micros>> {
        match self.0.filter(|object| !object.is_none()) {
            None => Ok(None),
            Some(object) => host::instant(key, number(key, "now", &object)?).map(Some).map_err(limit_error),
        }
    }

    /// The longest wait, in seconds or as a `timedelta`; `None` is however long it takes.
    pub(crate) fn max_wait(self, key: &str) -> PyResult<Duration> {
        let Some(object) = self.0.filter(|object| !object.is_none()) else { return Ok(Duration::MAX) };
        let millis = match value::milliseconds(&object)? {
            Some(millis) => millis,
            None => number(key, "maxWait", &object)? * 1000.0,
        };
        host::max_wait(key, millis).map_err(limit_error)
    }
}

/// Who is being limited.
#[inline]
pub(crate) fn actor<'a>(key: &str, actor: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    string(key, "actor", actor)
}

/// Text that an error would name by the limit's key and a field.
#[inline]
pub(crate) fn string<'a>(key: &str, field: &str, given: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    let Ok(text) = given.cast::<PyString>() else {
        return Err(wrong_type(key, field, "must be a string", value::read(given)?));
    };
    text.to_cow().map_err(|_| wrong_type(key, field, "must be a string", value::LONE_SURROGATE))
}

/// The key of a limit that is read from text.
pub(crate) fn key(given: &Bound<'_, PyAny>) -> PyResult<String> {
    match value::read_key(given)? {
        Value::Text(key) => Ok(key),
        other => Err(wrong_type("", "key", "must be a string", other)),
    }
}

/// An option that is text and belongs to no limit.
pub(crate) fn text<'a>(name: &str, given: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    let Ok(text) = given.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!("{name} must be a string, got {}", value::read(given)?)));
    };
    text.to_cow().map_err(|_| PyValueError::new_err(format!("{name} must be a string, got {}", value::LONE_SURROGATE)))
}

pub(crate) fn number(key: &str, field: &str, object: &Bound<'_, PyAny>) -> PyResult<f64> {
    match value::read(object)? {
        Value::Number(number) => Ok(number),
        other => Err(wrong_type(key, field, "must be a number", other)),
    }
}
