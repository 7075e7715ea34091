//! Answers whose objects few ask for.

use pyo3::prelude::*;

use super::answer::LimitInfo;

/// An answer, and its object once somebody asks for it: to make one takes half as long as a decision.
pub(crate) enum LazyInfo {
    Kept(LimitInfo),
    Made(Py<LimitInfo>),
}

impl LazyInfo {
    pub(crate) fn get(&self) -> &LimitInfo {
        match self {
            Self::Kept(info) => info,
            Self::Made(info) => info.get(),
        }
    }

    /// Its object, always the same one. No code of Python's runs while it is made.
    pub(crate) fn object(&mut self, py: Python<'_>) -> PyResult<Py<LimitInfo>> {
        if let Self::Kept(info) = self {
            *self = Self::Made(Py::new(py, std::mem::take(info))?);
        }
        match self {
            Self::Made(info) => Ok(info.clone_ref(py)),
            Self::Kept(_) => unreachable!("it has just been made"),
        }
    }
}
