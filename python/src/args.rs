//! The arguments of a call.

use std::borrow::Cow;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyString;
use tidegate::limits::Value;
use tidegate::{ErrorKind, LimitError, Micros, ffi};

use crate::errors::{limit_error, wrong_type};
use crate::value;

/// An optional argument, read only once it is known which limit an error would have to name.
///
/// Unlike in an `Option`, `None` differs from an argument that was left out.
#[derive(Clone, Copy, Default)]
pub(crate) struct Arg<'a, 'py>(pub(crate) Option<Borrowed<'a, 'py, PyAny>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Arg<'a, 'py> {
    type Error = std::convert::Infallible;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> Result<Self, Self::Error> {
        Ok(Self(Some(object)))
    }
}

impl<'a, 'py> Arg<'a, 'py> {
    /// An argument that was found by its name.
    pub(crate) fn of(given: Option<&'a Bound<'py, PyAny>>) -> Self {
        Self(given.map(Bound::as_borrowed))
    }

    /// The object; `None` where nothing was given.
    pub(crate) fn object(self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.0.map_or_else(|| py.None().into_bound(py), Borrowed::to_owned)
    }
}

impl Arg<'_, '_> {
    pub(crate) fn is_none(self) -> bool {
        self.0.is_none_or(|object| object.is_none())
    }

    #[inline]
    pub(crate) fn cost(self, key: &str) -> PyResult<u64> {
        match self.0 {
            None => Ok(1),
            Some(object) => ffi::cost(key, number(key, "cost", &object)?).map_err(limit_error),
        }
    }

    /// The least part of a cost that is of use.
    pub(crate) fn at_least(self, key: &str) -> PyResult<u64> {
        let Some(object) = self.0 else { return Ok(0) };
        ffi::at_least(key, number(key, "at_least", &object)?).map_err(limit_error)
    }

    #[inline]
    pub(crate) fn factor(self, key: &str) -> PyResult<f64> {
        match self.0 {
            None => Ok(1.0),
            Some(object) => number(key, "factor", &object),
        }
    }

    /// A whole number that belongs to no limit.
    pub(crate) fn count(self, name: &str, default: u64) -> PyResult<u64> {
        const PROBLEM: &str = "must be a whole number, at least 0 and below 2^53";
        let Some(object) = self.0 else { return Ok(default) };
        match value::read(&object)? {
            // As a cost is: only the words differ.
            Value::Number(number) => ffi::cost("", number).map_err(|_| refused("", name, PROBLEM, number)),
            other => Err(wrong_type("", name, PROBLEM, other)),
        }
    }

    /// True or false; false unless given.
    pub(crate) fn flag(self, name: &str) -> PyResult<bool> {
        let Some(object) = self.0 else { return Ok(false) };
        match value::read(&object)? {
            Value::Bool(flag) => Ok(flag),
            other => Err(wrong_type("", name, "must be True or False", other)),
        }
    }

    /// The caller's instant; `None` leaves it to the clock.
    #[inline]
    pub(crate) fn now(self, key: &str) -> PyResult<Option<Micros>> {
        match self.0.filter(|object| !object.is_none()) {
            None => Ok(None),
            Some(object) => ffi::instant(key, number(key, "now", &object)?).map(Some).map_err(limit_error),
        }
    }

    /// The longest wait, in seconds or as a `timedelta`; `None` is no bound.
    pub(crate) fn max_wait(self, key: &str) -> PyResult<Duration> {
        Ok(self.seconds(key, "max_wait", ffi::max_wait)?.unwrap_or(Duration::MAX))
    }

    /// A time in seconds or as a `timedelta`, if it is given, which `read` takes in milliseconds.
    pub(crate) fn seconds(
        self,
        key: &str,
        name: &str,
        read: fn(&str, f64) -> Result<Duration, LimitError>,
    ) -> PyResult<Option<Duration>> {
        const PROBLEM: &str = "must be at least 0 seconds and at most 9007199254";
        let Some(object) = self.0.filter(|object| !object.is_none()) else { return Ok(None) };
        let millis = value::milliseconds(&object)?;
        let seconds = match millis {
            Some(millis) => millis / 1000.0,
            None => number(key, name, &object)?,
        };
        // In the unit that it was given in.
        read(key, millis.unwrap_or(seconds * 1000.0)).map(Some).map_err(|_| refused(key, name, PROBLEM, seconds))
    }

    /// The units that are left upstream, if that is given.
    pub(crate) fn remaining(self, key: &str) -> PyResult<Option<u64>> {
        let Some(object) = self.0.filter(|object| !object.is_none()) else { return Ok(None) };
        ffi::remaining(key, number(key, "remaining", &object)?).map(Some).map_err(limit_error)
    }
}

/// A function that returns the time.
pub(crate) fn clock(given: Arg<'_, '_>) -> PyResult<Option<Py<PyAny>>> {
    let Some(clock) = given.0.filter(|object| !object.is_none()) else { return Ok(None) };
    if clock.is_callable() {
        return Ok(Some(clock.to_owned().unbind()));
    }
    Err(wrong_type("", "clock", "must be a function that returns seconds since the epoch", value::read(&clock)?))
}

/// The instant of a clock of the caller's, which returns seconds since the epoch.
pub(crate) fn instant_of(clock: &Bound<'_, PyAny>, key: &str) -> PyResult<Micros> {
    const PROBLEM: &str = "must tell seconds since the epoch, up to the year 2255";
    match value::read(&clock.call0()?)? {
        Value::Number(seconds) => {
            ffi::instant(key, seconds * 1000.0).map_err(|_| refused(key, "clock", PROBLEM, seconds))
        }
        other => Err(wrong_type(key, "clock", PROBLEM, other)),
    }
}

/// The name of an actor as an exact `str`.
#[inline]
pub(crate) fn actor<'py>(key: &str, actor: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    let Ok(given) = actor.cast::<PyString>() else { return Err(no_actor(key, actor)?) };
    let (name, bytes) = match given.to_str() {
        Ok(text) if given.is_exact_instance_of::<PyString>() => (given.clone(), text.len()),
        // An object of a subclass may refer to anything, the answer that keeps it included.
        Ok(text) => (PyString::new(given.py(), text), text.len()),
        Err(_) => return Err(not_text(key, "actor", &Value::Malformed)),
    };
    if bytes > ffi::LONGEST_ACTOR { Err(limit_error(ffi::long_actor(key, bytes))) } else { Ok(name) }
}

/// Types whose text names an actor well, unlike that of `None` and of bytes.
#[cold]
pub(crate) fn no_actor(key: &str, actor: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    const NAMES: [&str; 5] = ["int", "UUID", "IPv4Address", "IPv6Address", "ObjectId"];
    let name = actor.get_type().name()?;
    let problem =
        if NAMES.iter().any(|known| name == *known) { "must be a string: use str()" } else { "must be a string" };
    Ok(wrong_type(key, "actor", problem, value::read(actor)?))
}

/// Text; an error names the limit's key and the field.
#[inline]
pub(crate) fn string<'a>(key: &str, field: &str, given: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    any_string(key, field, given)?.to_cow().map_err(|_| not_text(key, field, &Value::Malformed))
}

/// The same as Python's own object, which may be no Unicode.
pub(crate) fn any_string<'a, 'py>(
    key: &str,
    field: &str,
    given: &'a Bound<'py, PyAny>,
) -> PyResult<&'a Bound<'py, PyString>> {
    match given.cast::<PyString>() {
        Ok(text) => Ok(text),
        Err(_) => Err(not_text(key, field, &value::read(given)?)),
    }
}

/// The error for a value in the place of text.
#[cold]
fn not_text(key: &str, field: &str, value: &Value) -> PyErr {
    limit_error(ffi::not_text(key, field, value))
}

/// The key of a limit that is read from text.
pub(crate) fn key(given: &Bound<'_, PyAny>) -> PyResult<String> {
    string("", "key", given).map(Cow::into_owned)
}

/// An option that is text and belongs to no limit.
pub(crate) fn text<'a>(name: &str, given: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    string("", name, given)
}

/// The error for an argument that is out of its bounds.
#[cold]
pub(crate) fn refused(key: &str, field: &str, problem: &str, given: impl std::fmt::Display) -> PyErr {
    limit_error(tidegate::LimitError::new(ErrorKind::Range, key, field, problem, given))
}

pub(crate) fn number(key: &str, field: &str, object: &Bound<'_, PyAny>) -> PyResult<f64> {
    match value::read(object)? {
        Value::Number(number) => Ok(number),
        other => Err(wrong_type(key, field, "must be a number", other)),
    }
}
