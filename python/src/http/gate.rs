//! The gate and its refusals.

use std::borrow::Cow;
use std::net::IpAddr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use tidegate::headers::{Header, Policy};
use tidegate::http::{self, GATE_OPTIONS, Warning};
use tidegate::limits::Value;

use super::{Lines, bytes, mistake, room};
use crate::args::Arg;
use crate::errors::{configuration_error, limit_error, snake_case, wrong_type};
use crate::info::LimitInfo;
use crate::limiter::Limiter;
use crate::limiter::verbs::{self, Given};
use crate::once::intern;
use crate::value;

/// The HTTP part of a middleware: the client, the headers, the refusal. Made once, and shared by threads.
#[pyclass(frozen, name = "_Gate", module = "tidegate._tidegate")]
pub(crate) struct Gate(http::Gate);

#[pymethods]
impl Gate {
    #[new]
    #[pyo3(signature = (**options))]
    fn new(options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut fields = Vec::new();
        for (name, given) in options.into_iter().flatten() {
            let name: String = name.extract()?;
            let Some(option) = GATE_OPTIONS.into_iter().find(|option| snake_case(option) == name) else {
                return Err(PyTypeError::new_err(format!("Gate() got an unexpected keyword argument '{name}'")));
            };
            // A list is one field for each of its items; text is no list here.
            let is_list = matches!(option, "trustedProxies" | "silence") && !given.is_instance_of::<PyString>();
            match given.try_iter() {
                Ok(items) if is_list => {
                    for item in items {
                        fields.push((option.to_owned(), network(&item?)?));
                    }
                }
                _ => fields.push((option.to_owned(), network(&given)?)),
            }
        }
        http::Gate::from_fields(fields).map(Self).map_err(limit_error)
    }

    /// The name of the header whose lines ``client`` takes, in lower case.
    #[getter]
    fn forwarded_header(&self) -> &str {
        self.0.header_name()
    }

    /// No header is believed.
    #[getter]
    fn trusts_nobody(&self) -> bool {
        self.0.trusts_nobody()
    }

    /// The client of a request, by its peer and all lines of the forwarded header, in order.
    ///
    /// Raises ``ConfigurationError`` where there is no address.
    #[pyo3(signature = (peer, lines = Arg(None), /), text_signature = "($self, peer, lines=(), /)")]
    fn client(&self, py: Python<'_>, peer: &Bound<'_, PyAny>, lines: Arg<'_, '_>) -> PyResult<String> {
        let lines = Lines::read(lines.0)?;
        self.actor(py, peer, &lines.bytes()?)
    }

    /// The same, by the scope that an ASGI server makes of a request.
    #[pyo3(signature = (scope, /))]
    fn client_of(&self, py: Python<'_>, scope: &Bound<'_, PyAny>) -> PyResult<String> {
        let peer = match found(scope, intern!(py, "client"))? {
            Some(client) => pair(&client)?.get_item(0)?,
            None => py.None().into_bound(py),
        };
        if peer.is_none() && Self::has_left(scope)? {
            // It is no proxy over a Unix socket, which has no address either.
            return self.actor(py, &peer, &[]);
        }
        let header = self.0.header_name().as_bytes();
        let mut lines = Vec::new();
        for field in scope.get_item(intern!(py, "headers"))?.try_iter()? {
            let field = field?;
            let field = pair(&field)?;
            let (name, value) = (field.get_borrowed_item(0)?, field.get_borrowed_item(1)?);
            if bytes(&name)?.eq_ignore_ascii_case(header) {
                lines.push(value.to_owned());
            }
        }
        let lines = Lines(lines);
        // The test clients of Starlette and httpx have no address.
        let is_test = peer.cast::<PyString>().is_ok_and(|peer| peer == "testclient");
        self.actor(py, if is_test { intern!(py, "127.0.0.1") } else { &peer }, &lines.bytes()?)
    }

    /// The client of a request of ASGI has reset the connection: its server has only an address of its own.
    ///
    /// Uvicorn asks the system for the client's, which has it no more.
    #[staticmethod]
    #[pyo3(signature = (scope, /))]
    fn has_left(scope: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = scope.py();
        if found(scope, intern!(py, "client"))?.is_some() {
            return Ok(false);
        }
        let Some(server) = found(scope, intern!(py, "server"))? else { return Ok(false) };
        let host = pair(&server)?.get_item(0)?;
        let host = host.cast::<PyString>().ok().and_then(|host| host.to_str().ok());
        // Neither the path of a Unix socket nor the name that test clients give. A local address of IPv6 has a zone.
        Ok(host.and_then(|host| host.split('%').next()).is_some_and(|host| host.parse::<IpAddr>().is_ok()))
    }

    /// Decides limits for the client of a request of ASGI, and ``show``s the answer; returns both.
    #[pyo3(signature = (limiter, limit, scope, /, cost = Arg(None), factor = Arg(None)),
        text_signature = "($self, limiter, limit, scope, /, cost=1, factor=1.0)")]
    fn limit_client<'py>(
        &self,
        limiter: &Bound<'py, Limiter>,
        limit: Arg<'_, 'py>,
        scope: &Bound<'py, PyAny>,
        cost: Arg<'_, 'py>,
        factor: Arg<'_, 'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = scope.py();
        let client = PyString::new(py, &self.client_of(py, scope)?).into_any();
        let given = Given { limit, actor: Arg::of(Some(&client)), cost, factor, ..Given::default() };
        let info = verbs::limit(limiter.get(), py, &given)?;
        Self::show(scope, &info)?;
        Ok((client, info))
    }

    /// Puts an answer where a request of ASGI has it as ``request.state.rate_limit``.
    #[staticmethod]
    #[pyo3(signature = (scope, info, /))]
    fn show(scope: &Bound<'_, PyAny>, info: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = scope.py();
        let (name, shown) = (intern!(py, "state"), intern!(py, "rate_limit"));
        if let Some(state) = found(scope, name)? {
            return state.set_item(shown, info);
        }
        let state = PyDict::new(py);
        state.set_item(shown, info)?;
        scope.set_item(name, state)
    }

    /// The headers of a response with this status, of one answer or of all that belong to it.
    #[pyo3(signature = (infos, status = 200, /))]
    fn headers<'py>(&self, infos: &Bound<'py, PyAny>, status: u16) -> PyResult<Vec<(Bound<'py, PyString>, String)>> {
        let py = infos.py();
        let headers = answers(infos, |answers| self.0.headers(answers, status))?;
        Ok(headers.into_iter().map(|(name, value)| (PyString::intern(py, name), value)).collect())
    }

    /// The start of a response, as ASGI has it, with the headers of its answers.
    ///
    /// These stand in place of its own of the same names, or are left out where it ``keeps`` its own: of two lines with
    /// one name a client reads neither.
    #[pyo3(signature = (message, infos, keeps = false, /))]
    fn carrying<'py>(
        &self,
        message: &Bound<'py, PyAny>,
        infos: &Bound<'py, PyAny>,
        keeps: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = message.py();
        let carrying = if let Ok(message) = message.cast::<PyDict>() {
            message.copy()?
        } else {
            let carrying = PyDict::new(py);
            carrying.update(message.cast()?)?;
            carrying
        };
        let name = intern!(py, "headers");
        let status = message.get_item(intern!(py, "status"))?.extract()?;
        let mut headers = answers(infos, |answers| self.0.headers(answers, status))?;
        let mut made = Vec::new();
        if let Some(own) = carrying.get_item(name)? {
            made.reserve(own.len().unwrap_or(0) + headers.len());
            for field in own.try_iter()? {
                let field = field?;
                let ours = {
                    let parts = pair(&field)?;
                    let (name, _) = (parts.get_borrowed_item(0)?, parts.get_borrowed_item(1)?);
                    let name = bytes(&name)?;
                    headers.iter().position(|(ours, _)| name.eq_ignore_ascii_case(ours.as_bytes()))
                };
                match ours {
                    Some(index) if keeps => drop(headers.remove(index)),
                    Some(_) => continue,
                    None => {}
                }
                made.push(field);
            }
        }
        for header in &headers {
            made.push(line(py, header)?.into_any());
        }
        carrying.set_item(name, made)?;
        Ok(carrying)
    }

    /// The response to a request that is denied, by all lines of its ``Accept``.
    #[pyo3(
        signature = (infos, accept = Arg(None), /, *, detail = None),
        text_signature = "($self, infos, accept=None, /, *, detail=None)"
    )]
    fn refusal(&self, infos: &Bound<'_, PyAny>, accept: Arg<'_, '_>, detail: Option<&str>) -> PyResult<Refusal> {
        let accept = Lines::read(accept.0)?;
        let accept = accept.bytes()?;
        answers(infos, |answers| self.0.refusal(answers, &accept, detail)).map(Refusal)
    }

    /// The response to a request that cannot be decided, by its error's name and all its ``Accept`` lines.
    #[pyo3(signature = (name, accept = Arg(None), /), text_signature = "($self, name, accept=None, /)")]
    fn rejection(&self, name: &str, accept: Arg<'_, '_>) -> PyResult<Refusal> {
        let accept = Lines::read(accept.0)?;
        Ok(Refusal(self.0.rejection(room::named(name)?, &accept.bytes()?)))
    }

    /// A mistake that a middleware found: it is logged once, unless it is silenced. True if it is reported now.
    #[pyo3(signature = (code, detail = "", /))]
    fn report(&self, code: &Bound<'_, PyAny>, detail: &str) -> PyResult<bool> {
        match self.0.report(mistake(code)?, detail) {
            Some(warning) => warn(code.py(), &warning).map(|()| true),
            None => Ok(false),
        }
    }
}

impl Gate {
    fn actor(&self, py: Python<'_>, peer: &Bound<'_, PyAny>, lines: &[&[u8]]) -> PyResult<String> {
        let peer = if peer.is_none() {
            None
        } else {
            let Ok(text) = peer.cast::<PyString>() else {
                return Err(wrong_type("", "peer", "must be a string or None", value::read(peer)?));
            };
            text.to_str().ok()
        };
        let client = self.0.client(peer, lines).map_err(configuration_error)?;
        if let Some(warning) = &client.warning {
            warn(py, warning)?;
        }
        Ok(client.actor)
    }
}

/// An option's value; a network of the `ipaddress` module is its text.
fn network(given: &Bound<'_, PyAny>) -> PyResult<Value> {
    match value::read(given)? {
        Value::Other(_) if given.hasattr("max_prefixlen")? => Ok(Value::Text(given.str()?.extract()?)),
        other => Ok(other),
    }
}

/// Logs a mistake that is reported.
#[cold]
fn warn(py: Python<'_>, warning: &Warning) -> PyResult<()> {
    py.import("tidegate._http")?.call_method1("_warn", (warning.mistake.code(), &warning.text)).map(drop)
}

/// Asks for something about one answer, or several, each with its checks.
fn answers<T>(infos: &Bound<'_, PyAny>, ask: impl FnOnce(&[Policy<'_>]) -> T) -> PyResult<T> {
    if let Ok(info) = infos.cast::<LimitInfo>() {
        let one = info.get();
        if !one.is_several() {
            return Ok(ask(&[one.policy(one.cost())]));
        }
        return Ok(ask(&policies(&LimitInfo::checks_with_costs(info)?)));
    }
    let mut checks = Vec::new();
    for info in infos.try_iter()? {
        let info = info?;
        let Ok(info) = info.cast::<LimitInfo>() else {
            return Err(wrong_type("", "infos", "must be answers", value::read(&info)?));
        };
        checks.extend(LimitInfo::checks_with_costs(info)?);
    }
    Ok(ask(&policies(&checks)))
}

fn policies<'a>(checks: &'a [(Bound<'_, LimitInfo>, Option<u64>)]) -> Vec<Policy<'a>> {
    checks.iter().map(|(check, cost)| check.get().policy(*cost)).collect()
}

/// The value of a key, unless it is missing or ``None``. Nearly all mappings are dictionaries.
fn found<'py>(mapping: &Bound<'py, PyAny>, key: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let value = match mapping.cast::<PyDict>() {
        Ok(mapping) => mapping.get_item(key)?,
        Err(_) => Some(mapping.call_method1(intern!(mapping.py(), "get"), (key,))?),
    };
    Ok(value.filter(|value| !value.is_none()))
}

/// The name and the value of a header, as ASGI has them, or the host and the port of an address: nearly all are tuples.
fn pair<'a, 'py>(of: &'a Bound<'py, PyAny>) -> PyResult<Cow<'a, Bound<'py, PyTuple>>> {
    match of.cast::<PyTuple>() {
        Ok(pair) => Ok(Cow::Borrowed(pair)),
        Err(_) => PyTuple::new(of.py(), of.try_iter()?.collect::<PyResult<Vec<_>>>()?).map(Cow::Owned),
    }
}

fn raw<'py>(py: Python<'py>, headers: &[Header]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, headers.iter().map(|header| line(py, header)).collect::<PyResult<Vec<_>>>()?)
}

/// A header in bytes, with its name in lower case.
fn line<'py>(py: Python<'py>, (name, value): &Header) -> PyResult<Bound<'py, PyTuple>> {
    let name = PyBytes::new_with(py, name.len(), |lower| {
        lower.copy_from_slice(name.as_bytes());
        lower.make_ascii_lowercase();
        Ok(())
    })?;
    PyTuple::new(py, [name, PyBytes::new(py, value.as_bytes())])
}

/// The response to a request that is denied.
#[pyclass(frozen, name = "_Refusal", module = "tidegate._tidegate")]
pub(crate) struct Refusal(http::Refusal);

#[pymethods]
impl Refusal {
    /// The status, 429 unless set.
    #[getter]
    fn status(&self) -> u16 {
        self.0.status
    }

    /// The headers, with ``Retry-After``, ``Cache-Control`` and ``Content-Type``; no ``Content-Length``.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyString>, &str)> {
        self.0.headers.iter().map(|(name, value)| (PyString::intern(py, name), value.as_str())).collect()
    }

    /// The same in bytes, with names in lower case, as ASGI takes them.
    #[getter]
    fn raw_headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        raw(py, &self.0.headers)
    }

    /// The body in UTF-8; empty if there is none.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.body.as_bytes())
    }

    /// The value of ``Content-Type``; empty without a body.
    #[getter]
    fn media_type(&self) -> &str {
        self.0.media_type
    }

    /// The seconds until the request would be admitted, at least 1; 0 where no answer is blocked.
    #[getter]
    fn retry_after(&self) -> u64 {
        self.0.retry_after
    }
}
