//! The checks of a call, read from Python's objects and kept for its receipt.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyMapping, PyString, PyTuple, PyType};
use tidegate::Check;
use tidegate::ffi::{self, Taken};

use crate::args::{self, Arg};
use crate::errors::{limit_error, wrong_type};
use crate::limits::Limit;
use crate::value;

/// One check, made of Python's own objects: to keep them costs next to nothing.
pub(crate) struct OwnedCheck {
    pub(crate) limit: Py<Limit>,
    pub(crate) actor: Py<PyString>,
    pub(crate) cost: u64,
    pub(crate) factor: f64,
    /// The least part of the cost that is of use; 0 = all of it.
    at_least: u64,
    observed: bool,
}

impl OwnedCheck {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the way of nearly every call")]
    pub(crate) fn new(
        limit: Bound<'_, Limit>,
        actor: &Bound<'_, PyAny>,
        cost: Arg<'_, '_>,
        factor: Arg<'_, '_>,
    ) -> PyResult<Self> {
        let key = limit.get().0.key();
        let (actor, cost, factor) = (args::actor(key, actor)?, cost.cost(key)?, factor.factor(key)?);
        Ok(Self { limit: limit.unbind(), actor: actor.unbind(), cost, factor, at_least: 0, observed: false })
    }

    /// The same check, [observed](Check::observed) where this is so.
    pub(crate) fn observed(self, observed: bool) -> Self {
        Self { observed, ..self }
    }

    fn clone_ref(&self, py: Python<'_>) -> Self {
        let (limit, actor) = (self.limit.clone_ref(py), self.actor.clone_ref(py));
        let Self { cost, factor, at_least, observed, .. } = *self;
        Self { limit, actor, cost, factor, at_least, observed }
    }

    #[inline]
    fn check<'a>(&'a self, py: Python<'a>) -> Check<'a> {
        // Read once already, so it is text.
        let actor = self.actor.bind(py).to_str().unwrap_or_default();
        let check = Check::new(&self.limit.get().0, actor).cost(self.cost).at_least(self.at_least).factor(self.factor);
        if self.observed { check.observed() } else { check }
    }
}

/// The checks of a call, in order; the usual single one needs no list.
pub(crate) enum Checks {
    One(OwnedCheck),
    Several(Vec<OwnedCheck>),
}

impl Checks {
    pub(crate) fn all(&self) -> &[OwnedCheck] {
        match self {
            Self::One(check) => std::slice::from_ref(check),
            Self::Several(checks) => checks,
        }
    }

    /// The limit of the only check, if that is enforced.
    #[inline]
    pub(crate) fn enforced_one(&self) -> Option<&tidegate::Limit> {
        match self {
            Self::One(check) if !check.observed => Some(&check.limit.get().0),
            _ => None,
        }
    }

    /// The same checks, of which each takes as much of its cost as there is room for, and no less than this.
    pub(crate) fn at_least(mut self, units: u64) -> Self {
        match &mut self {
            Self::One(check) => check.at_least = units,
            Self::Several(checks) => checks.iter_mut().for_each(|check| check.at_least = units),
        }
        self
    }

    /// Gives each check a cost of its own.
    pub(crate) fn set_costs(&mut self, costs: &Bound<'_, PyAny>) -> PyResult<()> {
        const PROBLEM: &str = "must be a list of one cost for each limit";
        let checks = match self {
            Self::One(check) => std::slice::from_mut(check),
            Self::Several(checks) => checks.as_mut_slice(),
        };
        let key = checks.first().map_or("", |check| check.limit.get().0.key());
        let Some(costs) = items(costs) else { return Err(wrong_type(key, "costs", PROBLEM, value::read(costs)?)) };
        if costs.len() != checks.len() {
            let given = format!("{} costs for {} limits", costs.len(), checks.len());
            return Err(args::refused(key, "costs", PROBLEM, given));
        }
        for (check, cost) in checks.iter_mut().zip(&costs) {
            check.cost = Arg::of(Some(cost)).cost(check.limit.get().0.key())?;
        }
        Ok(())
    }

    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::One(check) => Self::One(check.clone_ref(py)),
            Self::Several(checks) => Self::Several(checks.iter().map(|check| check.clone_ref(py)).collect()),
        }
    }

    /// Those whose units are held; a single check is one of them.
    pub(crate) fn holding(&self, py: Python<'_>) -> Self {
        match self {
            Self::One(check) => Self::One(check.clone_ref(py)),
            Self::Several(checks) => {
                let held = checks.iter().filter(|check| check.check(py).holds());
                Self::Several(held.map(|check| check.clone_ref(py)).collect())
            }
        }
    }

    /// Some units are held, and each check takes all of its cost or nothing.
    pub(crate) fn hold_all_of_their_cost(&self) -> bool {
        self.all().iter().all(|check| check.at_least == 0) && self.of_limits(|checks| checks.iter().any(Check::holds))
    }

    /// Calls the engine with them.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the way of nearly every call")]
    pub(crate) fn with<T>(&self, py: Python<'_>, call: impl FnOnce(&mut [Check<'_>]) -> T) -> T {
        match self {
            Self::One(check) => call(&mut [check.check(py)]),
            Self::Several(checks) => call(&mut checks.iter().map(|check| check.check(py)).collect::<Vec<_>>()),
        }
    }

    /// Asks the engine about their limits, whoever their actors are: to read an actor's text takes longer than that.
    pub(crate) fn of_limits<T>(&self, ask: impl FnOnce(&[Check<'_>]) -> T) -> T {
        fn of_limit(check: &OwnedCheck) -> Check<'_> {
            Check::new(&check.limit.get().0, "")
        }
        match self {
            Self::One(check) => ask(&[of_limit(check)]),
            Self::Several(checks) => ask(&checks.iter().map(of_limit).collect::<Vec<_>>()),
        }
    }

    /// The key that an error about the call itself names.
    pub(crate) fn first_key(&self) -> &str {
        self.all().first().map_or("", |check| check.limit.get().0.key())
    }
}

/// A function that chooses a definition. A mapping that can be called is still a mapping, and a class is a mistake.
pub(crate) fn is_choice(limit: &Bound<'_, PyAny>) -> bool {
    limit.is_callable() && limit.cast::<PyType>().is_err() && limit.cast::<PyMapping>().is_err()
}

/// The items of a list or a tuple, `None` of anything else. They are read by their places: an iterator is asked for its
/// length first, and four of them took a third of a call of three checks.
pub(crate) fn items<'py>(of: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    match of.cast::<PyTuple>() {
        Ok(tuple) => Some(tuple.iter().collect()),
        Err(_) => of.cast::<PyList>().ok().map(|list| list.iter().collect()),
    }
}

/// Reads each check for several actors by its parts: two to four, and `True` behind those that the modules for web
/// frameworks observe.
pub(crate) fn read_checks<'py>(
    checks: &Bound<'py, PyAny>,
    mut read: impl FnMut(&[Bound<'py, PyAny>]) -> PyResult<()>,
) -> PyResult<()> {
    const PROBLEM: &str = "must be a list of tuples of limit and actor, and perhaps cost and factor";
    let refused =
        |given: &Bound<'py, PyAny>| -> PyResult<()> { Err(wrong_type("", "checks", PROBLEM, value::read(given)?)) };
    let Some(listed) = items(checks) else { return refused(checks) };
    for check in &listed {
        let parts = items(check).unwrap_or_default();
        let observed = parts.len() == 5 && parts[4].is_exact_instance_of::<PyBool>() && parts[4].is_truthy()?;
        if (2..=4).contains(&parts.len()) || observed { read(&parts)? } else { refused(check)? }
    }
    Ok(())
}

/// The actual cost of each check at the end of a hold: of the only one that holds nothing, or a list or a mapping.
pub(crate) fn spent_of_hold(checks: &[Check<'_>], given: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let key = checks.first().map_or("", Check::key);
    let number = |given: &Bound<'_, PyAny>| args::number(key, "costs", given);
    let spent = if let Some(costs) = items(given) {
        let each = costs.iter().map(number).collect::<PyResult<Vec<_>>>()?;
        ffi::spent_of_hold(checks, Taken::Each(&each))
    } else if let Ok(named) = given.cast::<PyDict>() {
        let entry = |(name, cost): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let name = if name.is_instance_of::<PyInt>() { name.str()?.into_any() } else { name };
            PyResult::Ok((args::string(key, "costs", &name)?.into_owned(), number(&cost)?))
        };
        let named = named.iter().map(entry).collect::<PyResult<Vec<_>>>()?;
        let named: Vec<_> = named.iter().map(|(name, units)| (name.as_str(), *units)).collect();
        ffi::spent_of_hold(checks, Taken::Named(&named))
    } else {
        ffi::spent_of_hold(checks, Taken::One(number(given)?))
    };
    spent.map_err(limit_error)
}
