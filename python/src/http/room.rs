//! The rules that all frameworks share: names translated, nothing decided.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyString};
use tidegate::ffi;
use tidegate::http::{self, RequestError, Syntax};
use tidegate::limits::Value;

use crate::args::{self, Arg};
use crate::errors::{limit_error, wrong_type};
use crate::limits::Limit;
use crate::value;

/// The actor that stands for a client's address: the address marked with ``ip:``, of IPv6 its network.
///
/// Limits without a key count under it, so it is the actor to pass where a client is limited, reset or looked at by
/// hand. A port or a zone does not count. A string that is no address is a ``LimitError``.
///
/// >>> from tidegate import client_of
/// >>> client_of("203.0.113.9"), client_of("2001:db8:1:2::7")
/// ('ip:203.0.113.9', 'ip:2001:db8:1:2::/64')
#[pyfunction]
#[pyo3(
    signature = (address, ipv6_prefix = Arg(None)),
    text_signature = "(address, ipv6_prefix=64)"
)]
pub(crate) fn client_of(address: &Bound<'_, PyAny>, ipv6_prefix: Arg<'_, '_>) -> PyResult<String> {
    let prefix = ipv6_prefix.0.map_or(Ok(Value::Number(64.0)), |given| value::read(&given))?;
    let text = match value::read(address)? {
        Value::Other(_) if address.hasattr("max_prefixlen")? => address.str()?.to_cow()?.into_owned(),
        _ => args::text("address", address)?.into_owned(),
    };
    ffi::client_of(&text, &prefix).map_err(limit_error)
}

/// The actor that stands for a key, which a client may have chosen.
#[pyfunction]
#[pyo3(name = "_key_of", signature = (key, /))]
pub(crate) fn key_of<'py>(key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let Ok(text) = key.cast::<PyString>() else {
        let written = key.cast::<PyFloat>().ok().and_then(|number| http::key_of_number(number.value()));
        let Some(written) = written else {
            return Err(wrong_type("", "key", "must be text or a finite number", value::read(key)?));
        };
        return Ok(written.into_pyobject(key.py())?.into_any());
    };
    // What is no text is refused where it is used.
    let Ok(known) = text.to_str() else { return Ok(key.clone()) };
    match http::key_of(known) {
        std::borrow::Cow::Borrowed(_) => Ok(key.clone()),
        std::borrow::Cow::Owned(marked) => Ok(marked.into_pyobject(key.py())?.into_any()),
    }
}

/// The template of a route, in a syntax: ``braces``, ``angles`` or ``colons``.
#[pyfunction]
#[pyo3(name = "_template", signature = (path, syntax, /))]
pub(crate) fn template(path: &str, syntax: &str) -> PyResult<String> {
    Ok(http::template(path, syntax.parse::<Syntax>().map_err(limit_error)?))
}

/// The key of a route's limits: its methods and its template.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as it is extracted")]
#[pyo3(name = "_route_name", signature = (methods, template, /))]
pub(crate) fn route_name(methods: Vec<String>, template: &str) -> String {
    http::route_name(&methods, template)
}

/// The keys of limits: names that were derived, each with its place, and definitions.
#[pyclass(frozen, name = "_Names", module = "tidegate._tidegate")]
pub(crate) struct Names(Mutex<http::Names>);

#[pymethods]
impl Names {
    #[new]
    #[pyo3(signature = ())]
    fn new() -> Self {
        Self(Mutex::new(http::Names::new()))
    }

    /// Notes the name of a place; false where another place has it.
    #[pyo3(signature = (name, place, /))]
    fn claim(&self, name: &str, place: u64) -> bool {
        // No code of Python's runs under it.
        self.0.lock().is_ok_and(|mut names| names.claim(name, place))
    }

    /// Notes a definition; it and an earlier one with the same key that is another one, in words.
    #[pyo3(signature = (limit, /))]
    fn define(&self, limit: &Bound<'_, Limit>) -> Option<String> {
        self.0.lock().ok()?.define(&limit.get().0)
    }

    /// Forgets the names of a place.
    #[pyo3(signature = (place, /))]
    fn release(&self, place: u64) {
        if let Ok(mut names) = self.0.lock() {
            names.release(place);
        }
    }
}

/// The name of the request's error behind a ``LimitError`` with this field and value.
#[pyfunction]
#[pyo3(name = "_request_error", signature = (field, value, /))]
pub(crate) fn request_error(field: &str, value: &str) -> Option<&'static str> {
    RequestError::of_field(field, value).map(RequestError::name)
}

/// The status and the sentence of a request's error, by its name.
#[pyfunction]
#[pyo3(name = "_request_error_parts", signature = (name, /))]
pub(crate) fn request_error_parts(name: &str) -> PyResult<(u16, &'static str)> {
    let error = named(name)?;
    Ok((error.status(), error.detail()))
}

/// The error of a request with this name.
pub(super) fn named(name: &str) -> PyResult<RequestError> {
    name.parse().map_err(limit_error)
}

/// A count of denials, which says which may be told.
#[pyclass(frozen, name = "_Denials", module = "tidegate._tidegate")]
pub(crate) struct Denials(Mutex<http::Denials>);

#[pymethods]
impl Denials {
    #[new]
    #[pyo3(signature = ())]
    fn new() -> Self {
        Self(Mutex::new(http::Denials::new()))
    }

    /// Notes a denial at this time in milliseconds; where it is to be told, the number before it that were not.
    #[pyo3(signature = (now_ms, /))]
    fn note(&self, now_ms: u64) -> Option<u64> {
        self.0.lock().ok()?.note(now_ms)
    }
}
