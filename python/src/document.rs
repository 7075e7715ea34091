//! Documents of named limits, and the schema for them.

#![expect(clippy::doc_link_with_quotes, reason = "Python in the examples")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString, PyTuple};
use tidegate::config::{Change, Format, Limits, Watch};
use tidegate::ffi::{self, Entry};

use crate::args;
use crate::errors::{limit_error, limits_error, wrong_type};
use crate::limits::{Limit, items};
use crate::value;

/// A document with Python's own objects for its definitions.
#[pyclass(frozen, weakref, module = "tidegate", name = "_Document")]
pub(crate) struct Document {
    limits: Arc<Limits>,
    named: Py<PyDict>,
    /// The definition of each override that has one.
    overriding: Vec<Option<Py<Limit>>>,
}

impl Document {
    fn new(py: Python<'_>, limits: Arc<Limits>) -> PyResult<Self> {
        let named = PyDict::new(py);
        for (name, limit) in limits.iter() {
            named.set_item(name, Limit::object(py, limit.clone())?)?;
        }
        let object = |limit: &tidegate::Limit| Limit::object(py, limit.clone()).map(Bound::unbind);
        let overriding = limits.overrides().iter().map(|one| one.definition().map(object).transpose());
        let overriding = overriding.collect::<PyResult<_>>()?;
        Ok(Self { limits, named: named.unbind(), overriding })
    }
}

#[pymethods]
impl Document {
    /// The limits by their names.
    #[getter]
    fn named<'py>(&self, py: Python<'py>) -> &Bound<'py, PyDict> {
        self.named.bind(py)
    }

    /// There are overrides.
    #[getter]
    fn has_overrides(&self) -> bool {
        !self.overriding.is_empty()
    }

    /// The definition and the factor of an actor at the limit of this name; ``KeyError`` where there is none.
    #[pyo3(signature = (name, actor, /))]
    fn find<'py>(&self, name: &Bound<'py, PyAny>, actor: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, f64)> {
        let py = name.py();
        let name = args::any_string("", "name", name)?;
        let Ok(actor) = actor.cast::<PyString>() else {
            return Err(args::no_actor(&name.to_cow().unwrap_or_default(), actor)?);
        };
        // Text that is not Unicode names nobody; the limiter says so.
        let found = match (name.to_cow(), actor.to_cow()) {
            (Ok(name), Ok(actor)) => self.limits.overriding(&name, &actor),
            _ => None,
        };
        let (definition, factor) = match found {
            Some((at, factor)) => (self.overriding.get(at).and_then(Option::as_ref), factor),
            None => (None, 1.0),
        };
        if let Some(limit) = definition {
            return Ok((limit.bind(py).clone().into_any(), factor));
        }
        let limit = self.named.bind(py).get_item(name)?;
        Ok((limit.ok_or_else(|| PyKeyError::new_err(name.clone().unbind()))?, factor))
    }

    /// The document as JSON text.
    fn to_json(&self) -> String {
        self.limits.to_json()
    }
}

/// The limits in a file.
#[pyfunction]
#[pyo3(name = "_load_limits", signature = (path, /))]
#[expect(clippy::needless_pass_by_value, reason = "what Python's path becomes")]
pub(crate) fn load(py: Python<'_>, path: PathBuf) -> PyResult<Document> {
    let limits = py.detach(|| Limits::load(&path)).map_err(limits_error)?;
    Document::new(py, Arc::new(limits))
}

/// The limits in a document.
#[pyfunction]
#[pyo3(name = "_read_limits", signature = (text, format, /))]
pub(crate) fn read(text: &Bound<'_, PyAny>, format: &Bound<'_, PyAny>) -> PyResult<Document> {
    let format = args::text("format", format)?;
    let format = format.parse::<Format>().map_err(limit_error)?;
    let limits = Limits::from_str(&args::text("text", text)?, format).map_err(limits_error)?;
    Document::new(text.py(), Arc::new(limits))
}

/// The limits in a document that is a dict already.
#[pyfunction]
#[pyo3(name = "_limits_from_dict", signature = (named, /))]
pub(crate) fn from_dict(named: &Bound<'_, PyAny>) -> PyResult<Document> {
    let limits = Limits::from_entry(entry(named, 0)?).map_err(limits_error)?;
    Document::new(named.py(), Arc::new(limits))
}

/// A document that is watched; Python has the thread that looks.
#[pyclass(frozen, weakref, module = "tidegate", name = "_Watched")]
pub(crate) struct Watched(tidegate::config::Watched);

#[pymethods]
impl Watched {
    #[new]
    #[pyo3(signature = (source, every, /))]
    fn new(source: &Bound<'_, PyAny>, every: f64) -> PyResult<Self> {
        let every = Duration::try_from_secs_f64(every).unwrap_or(Duration::MAX);
        let text = source.cast::<PyString>().ok().and_then(|text| text.to_cow().ok());
        let watch = match text.filter(|text| text.contains("://")) {
            Some(url) => Watch::open(&url).map_err(limit_error)?,
            None => Watch::new(source.extract::<PathBuf>()?),
        };
        // Python tells of changes itself.
        let watch = watch.every(every).on_change(|_| {});
        source.py().detach(|| watch.by_hand()).map(Self).map_err(limits_error)
    }

    /// The document that holds now.
    fn current(&self, py: Python<'_>) -> PyResult<Document> {
        Document::new(py, self.0.current())
    }

    /// Looks once; another document, if there is one. Raises ``LimitsError`` once for each that is wrong.
    fn look(&self, py: Python<'_>) -> PyResult<Option<Document>> {
        match py.detach(|| self.0.look()) {
            Some(Change::Changed(limits)) => Document::new(py, limits).map(Some),
            Some(Change::Wrong(error)) => Err(limits_error(error)),
            _ => Ok(None),
        }
    }

    /// Reads now; another document, if there is one. Raises ``LimitsError`` where it is wrong.
    fn reload(&self, py: Python<'_>) -> PyResult<Option<Document>> {
        let is_new = py.detach(|| self.0.reload()).map_err(limits_error)?;
        is_new.then(|| self.current(py)).transpose()
    }

    /// Refuses documents without a limit of this name; false where there is none now.
    #[pyo3(signature = (name, /))]
    fn need(&self, name: &str) -> bool {
        self.0.need(name)
    }

    /// The place of the document, without what is secret.
    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    /// Seconds until the next look.
    #[getter]
    fn pause(&self) -> f64 {
        self.0.pause().as_secs_f64()
    }
}

/// A definition in an override is the fourth level; below it nothing is looked at, so a dict may hold itself.
const DEEPEST: u8 = 4;

fn entry(object: &Bound<'_, PyAny>, depth: u8) -> PyResult<Entry> {
    if let Ok(limit) = object.cast::<Limit>() {
        return Ok(Entry::Limit(limit.get().0.clone()));
    }
    if let Some(items) = list(object)
        && depth < DEEPEST
    {
        return items.try_iter()?.map(|item| entry(&item?, depth + 1)).collect::<PyResult<_>>().map(Entry::List);
    }
    if object.cast::<PyMapping>().is_err() {
        return value::read(object).map(Entry::Value);
    }
    if depth >= DEEPEST {
        return Ok(Entry::Table(Vec::new()));
    }
    let read = |(name, object): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let Ok(name) = name.cast::<PyString>() else {
            return Err(wrong_type("", "limits", "must have strings as names", value::describe(&name)));
        };
        let name = name.to_cow().map_err(|_| limit_error(ffi::malformed_name()))?;
        Ok((name.into_owned(), entry(&object, depth + 1)?))
    };
    items(object, "limits")?.into_iter().map(read).collect::<PyResult<_>>().map(Entry::Table)
}

/// The same object if it is a list or a tuple.
fn list<'a, 'py>(object: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyAny>> {
    (object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>()).then_some(object)
}

/// The JSON Schema (draft 2020-12) of the wire form, as JSON text, for editors and other validators.
///
/// Its ``$defs`` have a document of named limits, as ``Limits`` reads it, under ``limits``.
///
/// >>> import json
/// >>> from tidegate import json_schema
/// >>> json.loads(json_schema())["$defs"]["bucket"]["properties"]["dripRate"]["default"]
/// 1000
#[pyfunction]
pub(crate) fn json_schema() -> &'static str {
    tidegate::Limit::json_schema()
}
