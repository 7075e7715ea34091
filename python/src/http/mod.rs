//! The engine's part of every web framework: names and types translated, nothing decided.

mod gate;
mod outgoing;
mod parse;
mod plan;
mod room;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use tidegate::ffi;
use tidegate::http::{Mistake, forget_mistakes};

use crate::args;
use crate::errors::limit_error;
use crate::limits::Limit;

pub(crate) use gate::{Gate, Refusal};
pub(crate) use outgoing::Outgoing;
pub(crate) use parse::parse_headers;
pub(crate) use plan::{Plan, TrialCounts, counted_twice};
pub(crate) use room::{Denials, Names, client_of, key_of, request_error, request_error_parts, route_name, template};

fn limit<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Limit>> {
    if let Ok(limit) = given.cast::<Limit>() {
        return Ok(limit.clone());
    }
    let made = given.py().get_type::<Limit>().call_method1("from_dict", (given,))?;
    Ok(made.cast_into()?)
}

/// The sentence of every mistake, by its code.
#[pyfunction]
#[pyo3(name = "_mistakes", signature = ())]
pub(crate) fn mistakes() -> Vec<(&'static str, &'static str)> {
    Mistake::ALL.iter().map(|mistake| (mistake.code(), mistake.sentence())).collect()
}

/// The URL of the page of a mistake.
#[pyfunction]
#[pyo3(name = "_mistake_page", signature = (code, /))]
pub(crate) fn mistake_page(code: &str) -> String {
    ffi::page_of(code)
}

/// Forgets the mistakes that were reported.
#[pyfunction]
#[pyo3(name = "_forget_mistakes", signature = ())]
pub(crate) fn forget() {
    forget_mistakes();
}

/// Lines of a header: one of them, a list of them, or none; as text, or as the bytes that came.
struct Lines<'py>(Vec<Bound<'py, PyAny>>);

impl<'py> Lines<'py> {
    fn read(given: Option<Borrowed<'_, 'py, PyAny>>) -> PyResult<Self> {
        let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(Self(Vec::new())) };
        if given.is_instance_of::<PyString>() || given.is_instance_of::<PyBytes>() {
            return Ok(Self(vec![given.to_owned()]));
        }
        Ok(Self(given.try_iter()?.collect::<PyResult<Vec<_>>>()?))
    }

    fn bytes(&self) -> PyResult<Vec<&[u8]>> {
        self.0.iter().map(bytes).collect()
    }
}

/// Text or bytes of a header, as bytes.
fn bytes<'a>(of: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    if let Ok(bytes) = of.cast::<PyBytes>() {
        return Ok(bytes.as_bytes());
    }
    match of.cast::<PyString>() {
        // What is not Unicode is no address either.
        Ok(text) => Ok(text.to_str().unwrap_or("\u{fffd}").as_bytes()),
        Err(_) => Err(PyTypeError::new_err("a line of a header must be str or bytes")),
    }
}

fn mistake(code: &Bound<'_, PyAny>) -> PyResult<Mistake> {
    let known = args::text("code", code)?;
    known.parse().map_err(limit_error)
}
