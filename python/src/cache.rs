//! The definition cache: definitions that calls are given as dicts, compiled once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::limits::Limit;

/// A power of two, far above the number of limits that a program has.
const SLOTS: usize = 256;
/// No definition has more fields.
const MOST_FIELDS: usize = 16;
/// A longer key was made at run time, and is not worth its memory.
const LONGEST_KEY: usize = 1024;

/// Compiled definitions by the objects in their dicts, because to read a dict costs more than to decide.
///
/// With names and values of exactly the immutable types, the very same objects are the same definition. The cache holds
/// references to them, so that no other object can take their address. A dict that has been changed holds another
/// object and is read anew; so is one whose equal values are other objects.
///
/// A thread holds the lock only while it runs no code of Python's. So no fork finds it locked: Python stops all other
/// threads before it forks, with a global lock or without, and a thread can only be stopped where it runs such code.
#[derive(Default)]
pub(crate) struct DefinitionCache(Mutex<Vec<Option<Entry>>>);

struct Entry {
    fields: Vec<(Py<PyAny>, Py<PyAny>)>,
    limit: Py<Limit>,
}

impl DefinitionCache {
    pub(crate) fn read<'py>(&self, dict: &Bound<'py, PyDict>) -> PyResult<Bound<'py, Limit>> {
        // Another thread may change the dict meanwhile where there is no global lock.
        let read = with_critical_section(dict, || fields(dict));
        let Some((fields, slot)) = read else { return Limit::from_wire(dict) };
        let known = self.slots()[slot]
            .as_ref()
            .filter(|known| known.holds(&fields))
            .map(|known| known.limit.clone_ref(dict.py()));
        if let Some(limit) = known {
            return Ok(limit.into_bound(dict.py()));
        }
        // The lock is not held here: the text of an error may come from code of the caller's.
        let limit = Limit::from_wire(dict)?;
        if limit.get().0.key().len() > LONGEST_KEY {
            return Ok(limit);
        }
        let fields = fields.into_iter().map(|(name, value)| (name.unbind(), value.unbind())).collect();
        let replaced = self.slots()[slot].replace(Entry { fields, limit: limit.clone().unbind() });
        drop(replaced);
        Ok(limit)
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Option<Entry>>> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.is_empty() {
            slots.resize_with(SLOTS, || None);
        }
        slots
    }
}

type Fields<'py> = Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

/// The content of a dict and its slot; `None` where an object in it might change.
fn fields<'py>(dict: &Bound<'py, PyDict>) -> Option<(Fields<'py>, usize)> {
    let mut slot = 0_usize;
    let mut fields = Vec::with_capacity(dict.len());
    for (name, value) in dict.iter().take(MOST_FIELDS + 1) {
        if fields.len() == MOST_FIELDS || !(is_immutable(&name) && is_immutable(&value)) {
            return None;
        }
        for object in [&name, &value] {
            // The lowest bits of an address are always the same.
            slot = slot.wrapping_mul(31).wrapping_add(object.as_ptr().addr() >> 4);
        }
        fields.push((name, value));
    }
    Some((fields, slot % SLOTS))
}

impl Entry {
    fn holds(&self, fields: &[(Bound<'_, PyAny>, Bound<'_, PyAny>)]) -> bool {
        self.fields.len() == fields.len()
            && self.fields.iter().zip(fields).all(|(known, given)| known.0.is(&given.0) && known.1.is(&given.1))
    }
}

/// Exactly of a type whose objects never change; a subclass could.
fn is_immutable(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyBool>()
}
