//! Checks of a call, read from its arguments.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::state::Limiter;
use crate::args::Arg;
use crate::check::{Checks, OwnedCheck, is_choice, items, read_checks};
use crate::limits::Limit;

impl Limiter {
    /// The checks of one actor.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the way of nearly every call")]
    pub(crate) fn checks<'py>(
        &self,
        limit: &Bound<'py, PyAny>,
        actor: &Bound<'py, PyAny>,
        cost: Arg<'_, 'py>,
        factor: Arg<'_, 'py>,
        context: Arg<'_, 'py>,
    ) -> PyResult<Checks> {
        if let Ok(limit) = limit.cast::<Limit>() {
            return OwnedCheck::new(limit.clone(), actor, cost, factor).map(Checks::One);
        }
        self.other_checks(limit, actor, cost, factor, context)
    }

    #[inline(never)]
    fn other_checks<'py>(
        &self,
        limit: &Bound<'py, PyAny>,
        actor: &Bound<'py, PyAny>,
        cost: Arg<'_, 'py>,
        factor: Arg<'_, 'py>,
        context: Arg<'_, 'py>,
    ) -> PyResult<Checks> {
        if let Ok(dict) = limit.cast::<PyDict>() {
            return OwnedCheck::new(self.cache.read(dict)?, actor, cost, factor).map(Checks::One);
        }
        let limits = self.chosen(limit, context)?.into_iter();
        let checks = limits.map(|limit| OwnedCheck::new(limit, actor, cost, factor));
        checks.collect::<PyResult<_>>().map(Checks::Several)
    }

    /// The checks of several actors.
    pub(crate) fn checks_of_all<'py>(&self, checks: &Bound<'py, PyAny>, context: Arg<'_, 'py>) -> PyResult<Checks> {
        let mut read = Vec::new();
        read_checks(checks, |parts| {
            let mut add = |limit| -> PyResult<()> {
                let optional = |at: usize| Arg::of(parts.get(at));
                let check = OwnedCheck::new(limit, &parts[1], optional(2), optional(3))?;
                read.push(check.observed(parts.len() > 4));
                Ok(())
            };
            // A list is for one actor's limits; here each has a tuple of its own.
            if is_choice(&parts[0]) {
                self.chosen(&parts[0], context)?.into_iter().try_for_each(add)
            } else {
                add(self.definition(&parts[0])?)
            }
        })?;
        Ok(Checks::Several(read))
    }

    /// The definitions of a call; for a function, those that it chooses.
    fn chosen<'py>(&self, limit: &Bound<'py, PyAny>, context: Arg<'_, 'py>) -> PyResult<Vec<Bound<'py, Limit>>> {
        let mut limits = Vec::new();
        for given in listed(limit) {
            if is_choice(&given) {
                let chosen = given.call1((context.object(given.py()),))?;
                for chosen in listed(&chosen) {
                    limits.push(self.definition(&chosen)?);
                }
            } else {
                limits.push(self.definition(&given)?);
            }
        }
        Ok(limits)
    }

    fn definition<'py>(&self, limit: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Limit>> {
        if let Ok(limit) = limit.cast::<Limit>() {
            return Ok(limit.clone());
        }
        match limit.cast::<PyDict>() {
            Ok(dict) => self.cache.read(dict),
            Err(_) => Limit::from_wire(limit),
        }
    }
}

fn listed<'py>(limit: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
    items(limit).unwrap_or_else(|| vec![limit.clone()])
}
