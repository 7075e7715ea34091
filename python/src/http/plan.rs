//! The decision of one request: what its places ask for, and what the answer means to each.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyTuple};
use tidegate::http::{self, Asked, Paid, Role};

use super::limit;
use crate::args::Arg;
use crate::check::{Checks, OwnedCheck};
use crate::info::LimitInfo;
use crate::limiter::Limiter;

/// The decision of a request before it is made, and what its answer means to each place that asks for something.
#[pyclass(frozen, name = "_Plan", module = "tidegate._tidegate")]
pub(crate) struct Plan {
    plan: http::Plan,
    checks: Py<PyList>,
}

/// The checks of one place: those that are enforced, those in shadow mode, and candidates.
type Place<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

#[pymethods]
impl Plan {
    /// Takes the checks of each place: tuples of limit, actor, cost and factor.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "as it is extracted")]
    #[pyo3(signature = (places, /))]
    fn new<'py>(py: Python<'py>, places: Vec<Place<'py>>) -> PyResult<Self> {
        let (mut given, mut asked, mut checks) = (Vec::new(), Vec::new(), Vec::new());
        for (place, (enforced, shadow, candidate)) in places.iter().enumerate() {
            let roles = [
                (Role::Enforced, Some(enforced)),
                (Role::Shadow, shadow.as_ref()),
                (Role::Candidate, candidate.as_ref()),
            ];
            for (role, list) in roles {
                let Some(list) = list else { continue };
                for check in list.try_iter()? {
                    let check = check?.cast_into::<PyTuple>()?;
                    let [of, actor, cost, factor] = [0, 1, 2, 3].map(|at| check.get_item(at).ok());
                    let Some((of, actor)) = of.zip(actor) else { continue };
                    checks.push(OwnedCheck::new(
                        limit(&of)?,
                        &actor,
                        Arg::of(cost.as_ref()),
                        Arg::of(factor.as_ref()),
                    )?);
                    asked.push((place, role));
                    given.push(check);
                }
            }
        }
        let plan = Checks::Several(checks).with(py, |checks| {
            let asked = asked.iter().zip(checks).map(|((place, role), check)| Asked::new(*place, *check).role(*role));
            http::Plan::new(&asked.collect::<Vec<_>>())
        });
        let planned = plan.planned().iter().map(|planned| {
            let mut check = given[planned.index].iter().collect::<Vec<_>>();
            check[2] = planned.cost.into_pyobject(py)?.into_any();
            if planned.observed {
                check.push(PyBool::new(py, true).to_owned().into_any());
            }
            PyTuple::new(py, check)
        });
        let checks = PyList::new(py, planned.collect::<PyResult<Vec<_>>>()?)?.unbind();
        Ok(Self { plan, checks })
    }

    /// The checks of the decision, each once, as a limiter takes them.
    #[getter]
    fn checks(&self, py: Python<'_>) -> Py<PyList> {
        self.checks.clone_ref(py)
    }

    /// Something is enforced. Where nothing is, a store that fails fails no request.
    #[getter]
    fn enforces(&self) -> bool {
        self.plan.enforces()
    }

    /// The place whose limit decides.
    #[pyo3(signature = (info, /))]
    fn deciding(&self, py: Python<'_>, info: &Bound<'_, LimitInfo>) -> Option<usize> {
        let index = info.get().binding_check(py)?;
        self.plan.deciding_at(index)
    }

    /// The answer of what is enforced, at one place or at all of them; ``None`` where nothing is.
    #[pyo3(signature = (info, place = None, /))]
    fn answer<'py>(
        &self,
        info: &Bound<'py, LimitInfo>,
        place: Option<usize>,
    ) -> PyResult<Option<Bound<'py, LimitInfo>>> {
        let own = place.map(|place| self.plan.enforced_by(place));
        LimitInfo::part(info, |part| {
            !part.is_observed() && own.as_ref().is_none_or(|own| own.contains(&part.check_index()))
        })
    }

    /// Counts what is tried.
    ///
    /// Returns the places whose limits in shadow mode would have denied, each with the answer that would.
    #[pyo3(signature = (info, counts, /))]
    fn count<'py>(
        &self,
        info: &Bound<'py, LimitInfo>,
        counts: &TrialCounts,
    ) -> PyResult<Vec<(usize, Bound<'py, LimitInfo>)>> {
        let denying = denying(info)?;
        let trials = self.plan.trials(|at| denying(at).is_some());
        let shadowed = counts.counts().note(trials);
        Ok(shadowed.into_iter().filter_map(|trial| Some((trial.place, denying(trial.denied_by?)?))).collect())
    }

    /// The seconds until the units that the call holds are free again unless they are renewed.
    ///
    /// ``None`` where it holds nothing.
    #[pyo3(signature = (info, /))]
    fn lease(&self, info: &Bound<'_, LimitInfo>) -> PyResult<Option<f64>> {
        let denying = denying(info)?;
        let lease = self.plan.lease(info.get().info.blocked, |at| denying(at).is_some());
        Ok(lease.map(|lease| lease.as_secs_f64()))
    }

    /// The costs that the checks really have, where each place says what it has used; ``None`` = what it asked.
    #[expect(clippy::needless_pass_by_value, reason = "as it is extracted")]
    #[pyo3(signature = (paid, /))]
    fn costs(&self, paid: Vec<Option<u64>>) -> Vec<u64> {
        self.plan.costs(|place| paid.get(place).copied().flatten().map_or(Paid::AsAsked, Paid::Units))
    }
}

/// The check at an index that denied, or would have.
fn denying<'py>(info: &Bound<'py, LimitInfo>) -> PyResult<impl Fn(usize) -> Option<Bound<'py, LimitInfo>>> {
    let checks: Vec<Bound<'py, LimitInfo>> = LimitInfo::checks(info)?.extract()?;
    Ok(move |at| checks.iter().find(|check| check.get().info.check_index() == at && check.get().info.blocked).cloned())
}

/// The key of a limit that two of these calls about one request charge for one actor.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as it is extracted")]
#[pyo3(name = "_counted_twice", signature = (calls, /))]
pub(crate) fn counted_twice(py: Python<'_>, calls: Vec<(PyRef<'_, Limiter>, PyRef<'_, LimitInfo>)>) -> Option<String> {
    let mut counted = http::Counted::default();
    let twice = calls.iter().filter_map(|(limiter, info)| {
        let opened = limiter.opened();
        let (limiter, receipt) = opened.as_ref().zip(info.receipt.as_ref())?;
        receipt
            .all_checks()
            .with(py, |checks| counted.note(limiter.entries_id(), checks, &info.info).map(str::to_owned))
    });
    twice.last()
}

/// Counts of limits that are tried.
#[pyclass(frozen, name = "_TrialCounts", module = "tidegate._tidegate")]
pub(crate) struct TrialCounts(Mutex<http::TrialCounts>);

#[pymethods]
impl TrialCounts {
    #[new]
    #[pyo3(signature = ())]
    fn new() -> Self {
        Self(Mutex::new(http::TrialCounts::new()))
    }

    /// The counts of limits in shadow mode, each behind its key.
    #[pyo3(signature = ())]
    fn shadow(&self) -> Vec<(String, [u64; 2])> {
        owned(self.counts().shadow())
    }

    /// The counts of candidates, each behind the key of the limits that it might replace.
    #[pyo3(signature = ())]
    fn candidates(&self) -> Vec<(String, [u64; 4])> {
        owned(self.counts().candidates())
    }

    /// Sets all counts back to nothing.
    #[pyo3(signature = ())]
    fn clear(&self) {
        *self.counts() = http::TrialCounts::new();
    }
}

impl TrialCounts {
    /// No code of Python's runs under this lock.
    fn counts(&self) -> MutexGuard<'_, http::TrialCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn owned<'a, const N: usize>(counts: impl Iterator<Item = (&'a str, [u64; N])>) -> Vec<(String, [u64; N])> {
    counts.map(|(key, counts)| (key.to_owned(), counts)).collect()
}
