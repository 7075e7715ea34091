//! Units that a hold has taken, and the process that has them.

use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use tidegate::ffi::Term;

use super::receipts::Release;
use crate::info::{LazyInfo, LimitInfo};
use crate::renewals::{Due, Renewals};

/// The forks that have made this process: a child has none of what its parent holds.
static FORKS: AtomicU32 = AtomicU32::new(0);

pub(crate) fn after_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

pub(super) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// The call that ends a hold.
pub(super) enum End<'a> {
    /// In this process's memory, for a block, which does not ask for its answer.
    Here(&'a tidegate::Limiter, Release),
    There(Py<LimitInfo>, Option<Vec<u64>>),
}

/// Units that a hold has taken.
pub(super) struct Taken {
    pub(super) info: LazyInfo,
    /// The answer that has the receipt since a renewal.
    pub(super) renewed: Option<Py<LimitInfo>>,
    pub(super) term: Term,
    pub(super) forks: u32,
    pub(super) renewals: Py<Renewals>,
    /// The place of its next renewal.
    pub(super) place: Option<Due>,
}

impl Taken {
    #[inline]
    pub(super) fn new(info: LazyInfo, term: Term, renewals: &Bound<'_, Renewals>, place: Due) -> Self {
        let renewals = renewals.clone().unbind();
        Self { info, renewed: None, term, forks: forks(), renewals, place: Some(place) }
    }

    /// The answer that has the receipt now.
    pub(super) fn answer(&self) -> &LimitInfo {
        self.renewed.as_ref().map_or_else(|| self.info.get(), Py::get)
    }

    /// The same as an object.
    pub(super) fn receipt(&mut self, py: Python<'_>) -> PyResult<Py<LimitInfo>> {
        self.renewed.as_ref().map_or_else(|| self.info.object(py), |renewed| Ok(renewed.clone_ref(py)))
    }
}

pub(super) fn not_begun() -> PyErr {
    PyAttributeError::new_err("this hold has not begun")
}
