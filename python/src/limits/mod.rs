//! Definitions as classes: each a keyword for a field of the wire form.

mod generated;
mod limit;

pub(crate) use generated::add;
pub(crate) use limit::{Limit, items};

use pyo3::PyClass;
use pyo3::prelude::*;
use tidegate::Value;

use crate::value;

/// An argument that is a field of the wire form, if it was given.
pub(crate) struct Field(pub(crate) Option<Value>);

impl Field {
    /// Where `None` is the default that a signature shows.
    fn or_none(self) -> Self {
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
        value::read_key(&object).map(Self)
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
fn define<T: PyClass<BaseType = Limit>>(
    class: T,
    kind: Option<&str>,
    key: Key,
    fields: impl IntoIterator<Item = (&'static str, Field)>,
) -> PyResult<PyClassInitializer<T>> {
    let kind = Field(kind.map(|kind| Value::Text(kind.to_owned())));
    let fields = [("key", Field(Some(key.0))), ("type", kind)].into_iter().chain(fields);
    let given = fields.filter_map(|(name, field)| field.0.map(|value| (name.to_owned(), value)));
    let limit = tidegate::Limit::from_fields(given).map_err(crate::errors::limit_error)?;
    Ok(PyClassInitializer::from(Limit::from(limit)).add_subclass(class))
}
