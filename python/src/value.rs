//! Python objects as values of the engine. Only types are checked here.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyFloat, PyInt, PyString};
use tidegate::limits::Value;

/// Above this, doubles no longer hold every integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The value of an object. A number is an `int`, a `float`, or an integer by its `__index__`, as those of numpy are.
///
/// A `bool` is no number, and neither is an object that would have to be rounded, such as a `Decimal`.
///
/// # Errors
/// Only those that must not be handled, such as a `KeyboardInterrupt` in an `__index__`.
pub(crate) fn read(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(float) = object.cast::<PyFloat>() {
        Ok(Value::Number(float.value()))
    } else if let Ok(value) = object.cast::<PyBool>() {
        Ok(Value::Bool(value.is_true()))
    } else if let Ok(integer) = object.cast::<PyInt>() {
        Ok(Value::Number(double(integer)))
    } else if let Ok(text) = object.cast::<PyString>() {
        Ok(text.to_cow().map_or(Value::Malformed, |text| Value::Text(text.into_owned())))
    } else if object.is_none() {
        Ok(Value::Null)
    } else {
        Ok(index(object)?.map_or_else(|| Value::Other(describe(object)), |integer| Value::Number(double(&integer))))
    }
}

/// [`read`], where a `timedelta` is a duration in milliseconds.
pub(crate) fn read_duration(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    Ok(milliseconds(object)?.map_or(read(object)?, Value::Number))
}

/// A `timedelta` in milliseconds.
pub(crate) fn milliseconds(object: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    let Ok(delta) = object.cast::<PyDelta>() else { return Ok(None) };
    let part = |name| -> PyResult<i128> { Ok(i128::from(delta.getattr(name)?.extract::<i64>()?)) };
    let seconds = part("days")? * 86_400 + part("seconds")?;
    Ok(Some((seconds * 1_000_000 + part("microseconds")?) as f64 / 1000.0))
}

/// The text for an object, in errors: its type, because its `repr` is code of the program.
pub(crate) fn describe(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "an object".to_owned(), |name| format!("an object of type {name}"))
}

fn index<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyInt>>> {
    match object.call_method0("__index__") {
        Ok(integer) => Ok(integer.cast_into().ok()),
        Err(error) if error.is_instance_of::<PyException>(object.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The nearest double; an integer beyond 2^53 never becomes 2^53 itself, and one beyond all doubles is infinite.
fn double(integer: &Bound<'_, PyInt>) -> f64 {
    let Ok(nearest) = integer.extract::<f64>() else {
        return if integer.lt(0).unwrap_or(false) { f64::NEG_INFINITY } else { f64::INFINITY };
    };
    if nearest.abs() == EXACT && integer.as_any().ne(nearest).unwrap_or(false) {
        nearest + nearest.signum() * 2.0
    } else {
        nearest
    }
}
