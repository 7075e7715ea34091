//! The base class of all definitions: each subclass has a keyword for a field of the wire form.

use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyString};
use tidegate::limits::Value;

use crate::errors::limit_error;
use crate::once::Once;
use crate::value;

/// A limit: its type, its parameters, and a key: the name of the limited action.
///
/// The base of all definitions. A definition is checked and compiled when it is made, never changes, and can be
/// compared, hashed and pickled. Two definitions with the same key share their entries, whatever their parameters.
///
/// >>> from tidegate import Bucket, Limit
/// >>> login = Limit.from_dict({"key": "login", "type": "bucket", "size": 10})
/// >>> login == Bucket("login", size=10)
/// True
#[pyclass(frozen, subclass, weakref, module = "tidegate")]
pub(crate) struct Limit(pub(crate) tidegate::Limit, Once<Py<PyDict>>);

impl From<tidegate::Limit> for Limit {
    fn from(limit: tidegate::Limit) -> Self {
        Self(limit, Once::new())
    }
}

impl Limit {
    /// A field by its name in the wire form; `None` where it was left out.
    pub(crate) fn field<'py>(this: &Bound<'py, Self>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        let found = this.get().wire(this.py())?.get_item(name)?;
        Ok(found.unwrap_or_else(|| this.py().None().into_bound(this.py())))
    }

    /// The wire form as a dict, with whole numbers as integers; made once.
    pub(crate) fn wire<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyDict>> {
        let wire = self.1.get_or_try_init(|| {
            let wire = py.import("json")?.call_method1("loads", (self.0.to_json(),))?.cast_into::<PyDict>()?;
            for (name, value) in wire.copy()?.iter() {
                if let Ok(number) = value.cast::<PyFloat>()
                    && number.value().fract() == 0.0
                {
                    wire.set_item(name, number.call_method0("__int__")?)?;
                }
            }
            PyResult::Ok(wire.unbind())
        })?;
        Ok(wire.bind(py))
    }
}

/// An argument that is a field of the wire form, if it was given.
pub(crate) struct Field(pub(crate) Option<Value>);

impl Field {
    /// The field of a signature that shows `None` as its default.
    pub(super) fn or_none(self) -> Self {
        Self(self.0.filter(|value| *value != Value::Null))
    }
}

impl<'py> FromPyObject<'_, 'py> for Field {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        value::read(&object).map(|value| Self(Some(value)))
    }
}

/// A [`Field`] that is a limit's key.
pub(crate) struct Key(Value);

impl<'py> FromPyObject<'_, 'py> for Key {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        value::read(&object).map(Self)
    }
}

/// A [`Field`] that takes a `timedelta` as well.
pub(crate) struct Span(pub(crate) Option<Value>);

impl From<Span> for Field {
    fn from(span: Span) -> Self {
        Self(span.0)
    }
}

impl<'py> FromPyObject<'_, 'py> for Span {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        value::read_duration(&object).map(|value| Self(Some(value)))
    }
}

/// A new definition of type `T`: its type's name, its key, its other fields.
pub(super) fn define<T: PyClass<BaseType = Limit>>(
    class: T,
    kind: Option<&str>,
    key: Key,
    fields: impl IntoIterator<Item = (&'static str, Field)>,
) -> PyResult<PyClassInitializer<T>> {
    let kind = Field(kind.map(|kind| Value::Text(kind.to_owned())));
    let fields = [("key", Field(Some(key.0))), ("type", kind)].into_iter().chain(fields);
    let given = fields.filter_map(|(name, field)| field.0.map(|value| (name.to_owned(), value)));
    let limit = tidegate::Limit::from_fields(given).map_err(limit_error)?;
    Ok(PyClassInitializer::from(Limit::from(limit)).add_subclass(class))
}
