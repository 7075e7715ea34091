//! What a call is about, read: limits, actors, costs and factors.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Limiter;
use crate::args::Arg;
use crate::asked::{Part, is_choice, is_list};
use crate::limits::Limit;

/// What a call is about, as it was given.
pub(crate) struct Question<'a, 'py> {
    pub(crate) limit: &'a Bound<'py, PyAny>,
    pub(crate) actor: &'a Bound<'py, PyAny>,
    pub(crate) cost: Arg<'a, 'py>,
    pub(crate) factor: Arg<'a, 'py>,
    /// What a function that chooses the limit is called with.
    pub(crate) context: Arg<'a, 'py>,
}

impl Limiter {
    pub(crate) fn parts<'a, 'py>(&self, asked: &Question<'a, 'py>) -> PyResult<Vec<Part<'a, 'py>>> {
        let limits = self.read_all(asked.limit, asked.context)?.into_iter();
        limits.map(|limit| Part::new(limit, asked.actor, asked.cost, asked.factor)).collect()
    }

    /// The definitions that a call was given, those that a function chose for it in their place.
    pub(crate) fn read_all<'py>(
        &self,
        limit: &Bound<'py, PyAny>,
        context: Arg<'_, 'py>,
    ) -> PyResult<Vec<Bound<'py, Limit>>> {
        let mut limits = Vec::new();
        for given in listed(limit)? {
            if is_choice(&given) {
                let chosen = match context.0 {
                    None => given.call1((given.py().None(),)),
                    Some(context) => given.call1((context,)),
                };
                for chosen in listed(&chosen?)? {
                    limits.push(self.read(&chosen)?);
                }
            } else {
                limits.push(self.read(&given)?);
            }
        }
        Ok(limits)
    }

    /// The checks for several actors, read.
    pub(crate) fn parts_of<'a, 'py>(
        &self,
        given: &'a [Vec<Bound<'py, PyAny>>],
        context: Arg<'_, 'py>,
    ) -> PyResult<Vec<Part<'a, 'py>>> {
        let mut parts = Vec::with_capacity(given.len());
        for given in given {
            let optional = |at: usize| Arg(given.get(at).map(Bound::as_borrowed));
            // A list is for one actor's limits; here each has a tuple of its own.
            let limits =
                if is_choice(&given[0]) { self.read_all(&given[0], context)? } else { vec![self.read(&given[0])?] };
            for limit in limits {
                parts.push(Part::new(limit, &given[1], optional(2), optional(3))?);
            }
        }
        Ok(parts)
    }

    pub(super) fn read<'py>(&self, limit: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Limit>> {
        if let Ok(limit) = limit.cast::<Limit>() {
            return Ok(limit.clone());
        }
        match limit.cast::<PyDict>() {
            Ok(dict) => self.literals.read(dict),
            Err(_) => Limit::from_wire(limit),
        }
    }
}

fn listed<'py>(limit: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if is_list(limit) { limit.try_iter()?.collect() } else { Ok(vec![limit.clone()]) }
}
