//! The methods of all definitions.

#![expect(clippy::doc_link_with_quotes, reason = "Python in the examples")]

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyDict, PyMapping, PyString, PyType};

use super::base::Limit;
use super::generated;
use crate::args::{self, Arg};
use crate::errors::{limit_error, snake_case, wire_error, wrong_type};
use crate::explanation::Explanation;
use crate::value;

#[pymethods]
impl Limit {
    /// Read a definition in the wire form, the JSON that every language shares, with durations in milliseconds.
    ///
    /// Raises ``LimitError`` for a field that is unknown, missing or of the wrong type, and a value out of its bounds.
    ///
    /// >>> from tidegate import Limit
    /// >>> Limit.from_dict({"key": "api", "type": "token-bucket", "count": 100, "period": 1000})
    /// TokenBucket('api', count=100, period=1000)
    #[staticmethod]
    #[pyo3(signature = (wire, /))]
    fn from_dict<'py>(wire: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        Self::from_wire(wire)
    }

    /// Read one limit as text, such as ``"100/minute"``, ``"5/15m burst 20"`` or ``"1000/day fixed-window"``.
    ///
    /// A token bucket unless a type follows: ``fixed-window``, ``sliding-window``, ``sliding-counter``,
    /// ``sliding-log`` or ``calendar-window``. Raises ``LimitError`` for any other text, and says what was expected at
    /// which character.
    ///
    /// >>> from tidegate import Limit
    /// >>> Limit.parse("api", "5/15m burst 20")
    /// TokenBucket('api', count=5, period=900000, burst=20)
    /// >>> Limit.parse("daily", "1000/day fixed-window")
    /// FixedWindow('daily', max=1000, period=86400000, anchor='epoch')
    #[staticmethod]
    #[pyo3(signature = (key, text, /))]
    fn parse<'py>(key: &Bound<'py, PyAny>, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let key = args::key(key)?;
        let py = text.py();
        let text = args::string(&key, "definition", text)?;
        Self::object(py, tidegate::Limit::parse(key.as_str(), &text).map_err(limit_error)?)
    }

    /// Read a list of limits as text, with ``;`` between them, to be decided together.
    ///
    /// A limit that stands alone has ``key`` as its key; of several, each has ``key``, an ``@`` and its period. No two
    /// may have the same period. Raises ``LimitError`` as ``parse``.
    ///
    /// >>> from tidegate import Limit
    /// >>> [limit.key for limit in Limit.parse_all("api", "100/minute; 10/second")]
    /// ['api@1m', 'api@1s']
    #[staticmethod]
    #[pyo3(signature = (key, text, /))]
    fn parse_all<'py>(key: &Bound<'py, PyAny>, text: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, Self>>> {
        let key = args::key(key)?;
        let py = text.py();
        let text = args::string(&key, "definition", text)?;
        let limits = tidegate::Limit::parse_all(key.as_str(), &text).map_err(limit_error)?;
        limits.into_iter().map(|limit| Self::object(py, limit)).collect()
    }

    /// Its units are held until they are released or their lease is over.
    #[getter]
    fn _holds(&self) -> bool {
        tidegate::Check::new(&self.0, "").holds()
    }

    /// Explain what this definition allows an actor with this factor.
    ///
    /// Raises ``LimitError`` for a factor out of bounds.
    ///
    /// >>> from tidegate import Bucket
    /// >>> explanation = Bucket("login", size=10).explain()
    /// >>> print(str(explanation).splitlines()[0])
    /// "login" (bucket) admits 10 at once, then 1 per second.
    #[pyo3(signature = (factor = Arg(None)), text_signature = "($self, factor=1.0)")]
    fn explain(&self, factor: Arg<'_, '_>) -> PyResult<Explanation> {
        let explanation = self.0.explain_with(factor.factor(self.0.key())?).map_err(limit_error)?;
        Ok(Explanation(explanation))
    }

    /// The definition in the wire form.
    ///
    /// >>> from tidegate import Bucket
    /// >>> Bucket("login", size=10).to_dict()
    /// {'key': 'login', 'type': 'bucket', 'size': 10, 'dripRate': 1000, 'dripSize': 1, 'factorScales': 'size'}
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.wire(py)?.copy()
    }

    /// The name of the limited action.
    #[getter]
    fn key(&self) -> &str {
        self.0.key()
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        let (key, parameters) = this.get().arguments(this.py())?;
        let mut shown = format!("{}({}", this.get_type().name()?, key.repr()?);
        for (name, value) in parameters.iter() {
            shown = format!("{shown}, {name}={}", value.repr()?);
        }
        Ok(shown + ")")
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        match other.cast::<Self>() {
            Ok(other) => Ok((self.0 == other.get().0).into_pyobject(py)?.to_owned().into_any().unbind()),
            Err(_) => Ok(py.NotImplemented()),
        }
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.to_json().hash(&mut hasher);
        hasher.finish()
    }

    /// An equal definition, for every protocol of ``pickle``, and for ``copy``.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, PickleArguments<'py>)> {
        let make = this.py().import("copyreg")?.getattr("__newobj_ex__")?;
        let (key, parameters) = this.get().arguments(this.py())?;
        Ok((make, (this.get_type(), (key,), parameters)))
    }
}

/// A class, and the arguments for it.
type PickleArguments<'py> = (Bound<'py, PyType>, (Bound<'py, PyString>,), Bound<'py, PyDict>);

impl Limit {
    /// An object of the class that this definition belongs to.
    pub(crate) fn object(py: Python<'_>, limit: tidegate::Limit) -> PyResult<Bound<'_, Self>> {
        generated::object(py, limit)
    }

    /// A definition object, or one made of a mapping in the wire form.
    pub(crate) fn from_wire<'py>(wire: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let items = items(wire, "limit")?;
        let mut fields = Vec::with_capacity(items.len());
        for (name, object) in &items {
            let Ok(name) = name.cast::<PyString>() else {
                let problem = "must have strings as the names of its fields";
                return Err(wrong_type(&key_among(&items), "limit", problem, value::describe(name)));
            };
            // What is lost of a lone surrogate cannot make the name of a field.
            let name = name.to_string_lossy().into_owned();
            fields.push((name, value::read(object)?));
        }
        Self::object(wire.py(), tidegate::Limit::from_fields(fields).map_err(wire_error)?)
    }

    /// The arguments with which its class makes an equal definition.
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyString>, Bound<'py, PyDict>)> {
        let parameters = PyDict::new(py);
        for (name, value) in self.wire(py)?.iter() {
            let name: String = name.extract()?;
            if name != "key" && name != "type" {
                parameters.set_item(snake_case(&name), value)?;
            }
        }
        Ok((PyString::new(py, self.0.key()), parameters))
    }
}

pub(crate) type Items<'py> = Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

/// The key, for an error about something else.
fn key_among(items: &Items<'_>) -> String {
    let key = items.iter().find(|(name, _)| name.cast::<PyString>().is_ok_and(|name| name.to_string_lossy() == "key"));
    key.and_then(|(_, key)| key.extract().ok()).unwrap_or_default()
}

/// The items of a mapping; an error is about `field`.
pub(crate) fn items<'py>(wire: &Bound<'py, PyAny>, field: &str) -> PyResult<Items<'py>> {
    if let Ok(dict) = wire.cast::<PyDict>() {
        // Another thread may change it meanwhile where there is no global lock.
        return Ok(with_critical_section(dict, || dict.iter().collect()));
    }
    let Ok(mapping) = wire.cast::<PyMapping>() else {
        let problem = match value::read(wire)? {
            // Text has no key of its own.
            tidegate::limits::Value::Text(_) => {
                "must be a definition, a mapping or a list of them; Limit.parse_all(key, text) reads text"
            }
            _ => "must be a definition, a mapping in the wire form, or a list of them",
        };
        return Err(wrong_type("", field, problem, value::read(wire)?));
    };
    let read = || mapping.items()?.iter().map(|item| item.extract()).collect::<PyResult<Items<'py>>>();
    read().map_err(|cause| {
        if !cause.is_instance_of::<pyo3::exceptions::PyException>(wire.py()) {
            return cause;
        }
        let error = wrong_type("", field, "must be a mapping that can be read", value::describe(wire));
        error.set_cause(wire.py(), Some(cause));
        error
    })
}
