//! Calls that are due at some time, such as renewals of what is held.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyFloat;
use tidegate::{Micros, ffi};

use crate::once::intern;

/// Calls that are due at some time, and whoever makes them: a thread, or an event loop.
///
/// Most are taken back before they are due, so to add one and to take it back costs next to nothing: nobody is woken
/// for it unless it is due before all others.
#[pyclass(frozen, name = "_Renewals", module = "tidegate._tidegate")]
pub(crate) struct Renewals {
    calls: Mutex<Calls>,
    /// Called with the seconds until the first call, where that is due before ``run`` comes back by itself.
    wake: Py<PyAny>,
}

/// The place of a call: the instant at which it is due, and a number that keeps calls of one instant apart.
pub(crate) type Due = (Micros, u64);

struct Calls {
    /// Objects with a method ``_due``, but for the latest.
    due: BTreeMap<Due, Py<PyAny>>,
    /// The latest of them, which is often taken back before there is another one: then no tree is built.
    latest: Option<(Due, Py<PyAny>)>,
    /// The instant at which ``run`` is called at the latest.
    wakes: Micros,
    last: u64,
}

impl Calls {
    fn in_order(&mut self) -> &mut BTreeMap<Due, Py<PyAny>> {
        self.due.extend(self.latest.take());
        &mut self.due
    }
}

#[pymethods]
impl Renewals {
    #[new]
    #[pyo3(signature = (wake, /))]
    fn new(wake: Py<PyAny>) -> Self {
        Self { calls: Mutex::new(Calls { due: BTreeMap::new(), latest: None, wakes: Micros::MAX, last: 0 }), wake }
    }

    /// Call ``_due`` of this object once, after so many seconds; returns its place.
    #[pyo3(signature = (seconds, what, /))]
    fn add(&self, py: Python<'_>, seconds: f64, what: Py<PyAny>) -> PyResult<Due> {
        let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).as_micros();
        let due = ffi::now().saturating_add(Micros::try_from(time).unwrap_or(Micros::MAX));
        let (place, is_first) = self.insert(due, what);
        if is_first {
            self.wake(py, due)?;
        }
        Ok(place)
    }

    /// Take back the call of this place.
    #[pyo3(signature = (place, /))]
    fn discard(&self, place: Due) {
        drop(self.remove(place));
    }

    /// Make the calls that are due; returns the seconds until the next one is, if there is any.
    fn run(&self, py: Python<'_>) -> Option<f64> {
        let now = ffi::now();
        while let Some(what) = self.take(now) {
            if let Err(error) = what.call_method0(py, intern!(py, "_due")) {
                error.write_unraisable(py, Some(what.bind(py)));
            }
        }
        let mut calls = self.calls();
        let first = calls.in_order().first_key_value().map(|(place, _)| place.0);
        calls.wakes = first.unwrap_or(Micros::MAX);
        first.map(seconds_until)
    }

    /// Forget all calls.
    fn clear(&self) {
        let mut calls = self.calls();
        calls.wakes = Micros::MAX;
        let gone = std::mem::take(calls.in_order());
        drop(calls);
        drop(gone);
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.wake)?;
        let Ok(calls) = self.calls.try_lock() else { return Ok(()) };
        let latest = calls.latest.iter().map(|(_, what)| what);
        calls.due.values().chain(latest).try_for_each(|what| visit.call(what))
    }
}

impl Renewals {
    /// Adds a call; true if it is due before `run` is called next, and then [`wake`](Self::wake) comes after it.
    pub(crate) fn insert(&self, due: Micros, what: Py<PyAny>) -> (Due, bool) {
        let mut calls = self.calls();
        calls.last += 1;
        let place = (due, calls.last);
        if let Some((place, what)) = calls.latest.replace((place, what)) {
            calls.due.insert(place, what);
        }
        let is_first = due < calls.wakes;
        if is_first {
            calls.wakes = due;
        }
        (place, is_first)
    }

    pub(crate) fn wake(&self, py: Python<'_>, due: Micros) -> PyResult<()> {
        self.wake.call1(py, (PyFloat::new(py, seconds_until(due)),)).map(drop)
    }

    /// Takes a call back. What was to be called is dropped by the caller, under no lock.
    pub(crate) fn remove(&self, place: Due) -> Option<Py<PyAny>> {
        let mut calls = self.calls();
        match calls.latest.take_if(|(latest, _)| *latest == place) {
            Some((_, what)) => Some(what),
            None => calls.due.remove(&place),
        }
    }

    fn take(&self, now: Micros) -> Option<Py<PyAny>> {
        let mut calls = self.calls();
        let first = calls.in_order().first_entry()?;
        if first.key().0 <= now { Some(first.remove()) } else { None }
    }

    /// No code of Python's runs under this lock, so no fork finds it locked: Python stops all other threads before it forks,
    /// with a global lock or without, and a thread can only be stopped where it runs such code.
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds_until(due: Micros) -> f64 {
    Duration::from_micros(due.saturating_sub(ffi::now())).as_secs_f64()
}
