//! The options of a limiter: names, types and units translated, nothing decided.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};
use tidegate::ffi;
use tidegate::ffi::{Dialect, STORE_OPTIONS, StoreOption, Takes};
use tidegate::limits::Value;

use crate::args::{self, Arg};
use crate::errors::{limit_error, wrong_type};
use crate::{log_queue, value};

/// The arguments of a limiter over the same shared store, for `pickle`.
pub(crate) struct PickleArguments {
    url: Py<PyAny>,
    options: Option<Py<PyDict>>,
    /// The URL or an option holds a password in clear.
    has_secret: bool,
}

/// The engine; for a shared store also the arguments to pickle it by.
pub(crate) fn open(
    py: Python<'_>,
    url: Arg<'_, '_>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<(tidegate::Limiter, Option<PickleArguments>)> {
    let url = url.0.map_or_else(|| PyString::new(py, "memory://").into_any(), pyo3::Borrowed::to_owned);
    let from_function = provided(&url)?;
    let address = from_function.as_ref().unwrap_or(&url);
    if address.is_none() {
        return Err(wrong_type("", "url", "must be a string; leave it out for memory", Value::Null));
    }
    let address = args::text("url", address)?;
    let (mut fields, mut has_secret) = (Vec::new(), false);
    for (name, object) in options.into_iter().flatten() {
        let name: String = name.extract()?;
        if name == "clock" {
            // Not for the engine: it becomes the instant of each call.
            continue;
        }
        let Some(option) = named(&name) else {
            let near = ffi::hint(&name, option_names());
            let problem = format!("Limiter() got an unexpected keyword argument '{name}'{near}");
            return Err(PyTypeError::new_err(problem));
        };
        let given = if option.takes == Takes::Secret { provided(&object)? } else { None };
        // The value of a function is not kept.
        has_secret |= option.takes == Takes::Secret && given.is_none() && !object.is_none();
        fields.push((name, read(option, given.as_ref().unwrap_or(&object))?));
    }
    let in_memory = address == "memory://";
    if !in_memory {
        // It begins to connect when it is made, and what a server says at first is told once.
        log_queue::ensure_started(py)?;
    }
    let opened = ffi::open(Dialect::Python, &address, fields, move |event| {
        if in_memory { log_queue::log(event) } else { log_queue::push(event) }
    })
    .map_err(limit_error)?;
    if !opened.limiter.is_shared() {
        let limiter = if has_global_lock(py)? { ffi::in_turn(opened.limiter) } else { opened.limiter };
        return Ok((limiter, None));
    }
    let options = options.map(PyDictMethods::copy).transpose()?.map(Bound::unbind);
    has_secret |= opened.url_has_secret && from_function.is_none();
    Ok((opened.limiter, Some(PickleArguments { url: url.unbind(), options, has_secret })))
}

/// True if one thread at a time runs code of Python's, as wherever this cannot be asked.
fn has_global_lock(py: Python<'_>) -> PyResult<bool> {
    let asked = py.import("sys")?.getattr_opt("_is_gil_enabled")?;
    asked.map_or(Ok(true), |ask| ask.call0()?.is_truthy())
}

/// The value of a function that is given in place of one.
fn provided<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if object.is_callable() { object.call0().map(Some) } else { Ok(None) }
}

fn named(name: &str) -> Option<&'static StoreOption> {
    STORE_OPTIONS.iter().find(|option| Dialect::Python.name_of(option).as_deref() == Some(name))
}

fn read(option: &StoreOption, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    match option.takes {
        Takes::Milliseconds(_) => {
            let millis = value::milliseconds(object)?;
            Ok(millis.map_or(value::read(object)?, |millis| Value::Number(millis / 1000.0)))
        }
        Takes::File if !object.is_none() => {
            Ok(match object.extract::<PathBuf>().ok().and_then(|path| path.into_os_string().into_string().ok()) {
                Some(path) => Value::Text(path),
                None => value::read(object)?,
            })
        }
        _ => value::read(object),
    }
}

/// The names of all options, for a test of their annotations.
#[pyfunction]
#[pyo3(name = "_option_names", signature = ())]
pub(crate) fn option_names() -> Vec<String> {
    STORE_OPTIONS.iter().filter_map(|option| Dialect::Python.name_of(option)).collect()
}

impl PickleArguments {
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.url)?;
        visit.call(&self.options)
    }

    /// A function and its arguments that make such an object of this class.
    pub(crate) fn reduce<'py>(&self, class: &Bound<'py, PyType>) -> PyResult<(Bound<'py, PyAny>, (Py<PyAny>,))> {
        let py = class.py();
        if self.has_secret {
            let problem = "a limiter that was given a password cannot be pickled, because the pickle would hold it in \
                clear: give a function that returns the password, as in password=read_password, or one that returns \
                the URL; it is called again where the limiter is loaded";
            return Err(PyTypeError::new_err(problem));
        }
        let options = self.options.as_ref().map(|options| options.bind(py));
        let make = py.import("functools")?.getattr("partial")?.call((class,), options)?;
        Ok((make, (self.url.clone_ref(py),)))
    }
}
