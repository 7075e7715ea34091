//! The bridges of this process, by their event loops.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ahash::AHashMap;
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;

/// An event loop and its bridge.
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) event_loop: Py<PyWeakrefReference>,
    /// The bridge, or a weak reference to it where its loop holds on to it.
    pub(super) held: Py<PyAny>,
}

impl Entry {
    fn clone_ref(&self, py: Python<'_>) -> Self {
        Self { number: self.number, event_loop: self.event_loop.clone_ref(py), held: self.held.clone_ref(py) }
    }

    fn bridge<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let held = self.held.bind(py);
        match held.cast::<PyWeakrefReference>() {
            Ok(weakly) => weakly.upgrade(),
            Err(_) => Some(held.clone()),
        }
    }

    /// Its loop will never run again.
    fn is_over(&self, py: Python<'_>) -> PyResult<bool> {
        match self.event_loop.bind(py).upgrade() {
            Some(event_loop) => event_loop.call_method0("is_closed")?.is_truthy(),
            None => Ok(true),
        }
    }
}

/// By the addresses of the loops. The lock is only held where no code of Python's runs. So no fork finds it locked:
/// Python stops all other threads before it forks, with a global lock or without, and a thread can only be stopped where
/// it runs such code.
static ENTRIES: Mutex<Option<AHashMap<usize, Entry>>> = Mutex::new(None);

struct Entries(MutexGuard<'static, Option<AHashMap<usize, Entry>>>);

fn entries() -> Entries {
    Entries(ENTRIES.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Entries {
    fn all(&mut self) -> &mut AHashMap<usize, Entry> {
        self.0.get_or_insert_default()
    }

    /// Removes this very entry: another thread may have added the loop that got its address.
    fn remove(&mut self, address: usize, number: u64) -> Option<Entry> {
        let is_same = self.all().get(&address).is_some_and(|entry| entry.number == number);
        if is_same { self.all().remove(&address) } else { None }
    }
}

fn address(event_loop: &Bound<'_, PyAny>) -> usize {
    event_loop.as_ptr().addr()
}

/// The bridge of this loop.
pub(super) fn find<'py>(event_loop: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = event_loop.py();
    let entry = entries().0.as_ref()?.get(&address(event_loop)).map(|entry| entry.clone_ref(py))?;
    // An earlier loop may have had the same address.
    let is_same = entry.event_loop.bind(py).upgrade().is_some_and(|known| known.is(event_loop));
    if is_same { entry.bridge(py) } else { None }
}

/// Adds the bridge of a loop, and removes those of loops that are over.
pub(super) fn add(event_loop: &Bound<'_, PyAny>, entry: Entry) -> PyResult<()> {
    let py = event_loop.py();
    let others: Vec<_> = entries().all().iter().map(|(address, entry)| (*address, entry.clone_ref(py))).collect();
    let mut over = Vec::new();
    for (address, other) in &others {
        if other.is_over(py)? {
            over.push((*address, other.number));
        }
    }
    let gone: Vec<_> = over.into_iter().filter_map(|(address, number)| entries().remove(address, number)).collect();
    let replaced = entries().all().insert(address(event_loop), entry);
    drop((others, gone, replaced));
    Ok(())
}

/// Has the loop of a bridge deliver its replies.
pub(super) fn wake(py: Python<'_>, number: u64) {
    let entry = entries().all().values().find(|entry| entry.number == number).map(|entry| entry.clone_ref(py));
    let Some(entry) = entry else { return };
    let (Some(bridge), Some(event_loop)) = (entry.bridge(py), entry.event_loop.bind(py).upgrade()) else { return };
    // A loop that has been closed meanwhile refuses, and no call is awaited there.
    drop(bridge.getattr("deliver").and_then(|deliver| event_loop.call_method1("call_soon_threadsafe", (deliver,))));
}

/// Forgets the loops of the parent, which do not run here.
pub(crate) fn after_fork() {
    let gone = entries().0.take();
    drop(gone);
}
