//! What a call is about.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PyTuple, PyType};
use tidegate::Check;

use crate::args::{self, Arg};
use crate::errors::wrong_type;
use crate::limits::Limit;
use crate::receipt::Wanted;
use crate::value;

/// One of several things to decide, read.
pub(crate) struct Part<'a, 'py> {
    pub(crate) limit: Bound<'py, Limit>,
    pub(crate) object: &'a Bound<'py, PyAny>,
    pub(crate) actor: Cow<'a, str>,
    pub(crate) cost: u64,
    pub(crate) factor: f64,
}

impl<'a, 'py> Part<'a, 'py> {
    pub(crate) fn new(
        limit: Bound<'py, Limit>,
        object: &'a Bound<'py, PyAny>,
        cost: Arg<'_, 'py>,
        factor: Arg<'_, 'py>,
    ) -> PyResult<Self> {
        let key = limit.get().0.key();
        let (actor, cost, factor) = (args::actor(key, object)?, cost.cost(key)?, factor.factor(key)?);
        Ok(Self { limit, object, actor, cost, factor })
    }

    pub(crate) fn check(&self) -> Check<'_> {
        Check::new(&self.limit.get().0, &self.actor).cost(self.cost).factor(self.factor)
    }

    pub(crate) fn wanted(&self) -> PyResult<Wanted> {
        Wanted::new(&self.limit, self.object, self.cost, self.factor)
    }
}

/// What an error about the call itself names.
pub(crate) fn first_key<'a>(parts: &'a [Part<'_, '_>]) -> &'a str {
    parts.first().map_or("", |part| part.limit.get().0.key())
}

/// Chooses a definition when it is asked. A mapping that can be called is still a mapping, and a class is a mistake.
pub(crate) fn is_choice(limit: &Bound<'_, PyAny>) -> bool {
    limit.is_callable() && limit.cast::<PyType>().is_err() && limit.cast::<PyMapping>().is_err()
}

/// Several limits at once.
pub(crate) fn is_list(limit: &Bound<'_, PyAny>) -> bool {
    limit.is_instance_of::<PyList>() || limit.is_instance_of::<PyTuple>()
}

/// The parts of each check, two to four.
pub(crate) fn checks_of<'py>(checks: &Bound<'py, PyAny>) -> PyResult<Vec<Vec<Bound<'py, PyAny>>>> {
    const PROBLEM: &str = "must be a list of tuples of limit and actor, and perhaps cost and factor";
    let refused =
        |given: &Bound<'py, PyAny>| -> PyResult<PyErr> { Ok(wrong_type("", "checks", PROBLEM, value::read(given)?)) };
    let read = |check: Bound<'py, PyAny>| {
        let parts = if is_list(&check) { check.try_iter()?.collect::<PyResult<Vec<_>>>()? } else { Vec::new() };
        if (2..=4).contains(&parts.len()) { Ok(parts) } else { Err(refused(&check)?) }
    };
    if is_list(checks) { checks.try_iter()?.map(|check| read(check?)).collect() } else { Err(refused(checks)?) }
}
