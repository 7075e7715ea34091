//! Values that are made at their first use, and that no fork finds locked.
//!
//! The cells and the names of `PyO3` leave the interpreter's lock to others while a value is made. If one of those forks,
//! its child waits for ever for a thread that it does not have.

use std::convert::Infallible;
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::PyString;

/// A value that the first thread that has it gives to all. Others may have made theirs meanwhile, which are dropped.
#[derive(Debug)]
pub(crate) struct Once<T>(OnceLock<T>);

impl<T> Once<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    #[inline]
    pub(crate) fn get_or_try_init<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        match self.0.get() {
            Some(value) => Ok(value),
            None => self.init(make),
        }
    }

    #[cold]
    fn init<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let value = make()?;
        // No code of Python's runs here, so no other thread can fork meanwhile.
        Ok(self.0.get_or_init(|| value))
    }
}

impl Once<Py<PyAny>> {
    /// The attribute of this module under this name.
    pub(crate) fn import<'py>(&self, py: Python<'py>, module: &str, name: &str) -> PyResult<&Bound<'py, PyAny>> {
        let attribute = self.get_or_try_init(|| PyResult::Ok(py.import(module)?.getattr(name)?.unbind()))?;
        Ok(attribute.bind(py))
    }
}

/// A text as an object of Python's.
#[derive(Debug)]
pub(crate) struct Name(&'static str, Once<Py<PyString>>);

impl Name {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self(text, Once::new())
    }

    #[inline]
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        let Ok(name) = self.1.get_or_try_init(|| Ok::<_, Infallible>(PyString::intern(py, self.0).unbind()));
        name.bind(py)
    }
}

/// The object of a text that is known where this is compiled, made once.
macro_rules! intern {
    ($py:expr, $text:expr) => {{
        static NAME: $crate::once::Name = $crate::once::Name::new($text);
        NAME.get($py)
    }};
}
pub(crate) use intern;
