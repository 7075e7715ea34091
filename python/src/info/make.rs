//! Answers made: of the engine's, of other answers, of a test's fields, of a pickle.

use std::borrow::Cow;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use tidegate::ffi::{self, InfoField, InfoTakes};
use tidegate::limits::Value;

use super::answer::{LimitInfo, Numbers};
use crate::args::{self, Arg};
use crate::check::OwnedCheck;
use crate::errors::limit_error;
use crate::limits::Limit;
use crate::receipt::Receipt;

/// An equal answer, for ``pickle``.
#[pyfunction]
#[pyo3(name = "_info_from_pickle", signature = (numbers, limit, actor, several, /))]
pub(crate) fn from_pickle(
    numbers: Numbers,
    limit: Option<Py<Limit>>,
    actor: Option<Py<PyString>>,
    several: Option<(Py<PyTuple>, usize)>,
) -> LimitInfo {
    LimitInfo { info: tidegate::LimitInfo::from_numbers(numbers), limit, actor, several, receipt: None }
}

impl LimitInfo {
    /// The answer of the engine to a call. The object is made of its parts: an answer that is moved first, on the way out
    /// of a function, takes longer than a decision.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the way of nearly every call")]
    pub(crate) fn object(py: Python<'_>, receipt: Receipt, info: tidegate::LimitInfo) -> PyResult<Bound<'_, Self>> {
        if is_alone(&receipt, &info) {
            return Bound::new(py, Self { info, limit: None, actor: None, several: None, receipt: Some(receipt) });
        }
        Bound::new(py, Self::several(py, receipt, &info)?)
    }

    /// The same, of which an object is made once somebody asks for it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as above")]
    pub(crate) fn of_answer(py: Python<'_>, receipt: Receipt, info: tidegate::LimitInfo) -> PyResult<Self> {
        if is_alone(&receipt, &info) {
            return Ok(Self { info, limit: None, actor: None, several: None, receipt: Some(receipt) });
        }
        Self::several(py, receipt, &info)
    }

    #[inline(never)]
    fn several(py: Python<'_>, receipt: Receipt, info: &tidegate::LimitInfo) -> PyResult<Self> {
        let named = |info: &tidegate::LimitInfo| {
            let check = receipt.checks.all().get(info.check_index());
            check.map(|OwnedCheck { limit, actor, .. }| (limit.clone_ref(py), actor.clone_ref(py))).unzip()
        };
        let several = match info.checks() {
            [one] if !one.is_observed() => None,
            checks => {
                let part = |info: &tidegate::LimitInfo| {
                    let (limit, actor) = named(info);
                    Bound::new(py, Self { info: info.clone(), limit, actor, several: None, receipt: None })
                };
                let checks = checks.iter().map(part).collect::<PyResult<Vec<_>>>()?;
                Some((PyTuple::new(py, checks)?.unbind(), info.binding()))
            }
        };
        let (merged, (limit, actor)) = (tidegate::LimitInfo::from_numbers(info.numbers()), named(info));
        Ok(Self { info: merged, limit, actor, several, receipt: Some(receipt) })
    }

    /// The index of the check that decides.
    pub(crate) fn binding_check(&self, py: Python<'_>) -> Option<usize> {
        match &self.several {
            Some((checks, binding)) => {
                let check = checks.bind(py).get_item(*binding).ok()?;
                Some(check.cast::<Self>().ok()?.get().info.check_index())
            }
            None => Some(self.info.check_index()),
        }
    }

    /// The answer of some of its checks: itself where those are all, `None` where it is none of them.
    pub(crate) fn part<'py>(
        this: &Bound<'py, Self>,
        is_wanted: impl Fn(&tidegate::LimitInfo) -> bool,
    ) -> PyResult<Option<Bound<'py, Self>>> {
        let py = this.py();
        let all: Vec<Bound<'py, Self>> = Self::checks(this)?.extract()?;
        let own: Vec<_> = all.iter().filter(|check| is_wanted(&check.get().info)).cloned().collect();
        match own.as_slice() {
            [] => return Ok(None),
            _ if own.len() == all.len() => return Ok(Some(this.clone())),
            [one] => return Ok(Some(one.clone())),
            _ => {}
        }
        let merged = ffi::merged(own.iter().map(|check| check.get().info.clone()).collect());
        let binding = merged.binding();
        let deciding = own[binding].get();
        let (limit, actor) = (
            deciding.limit().map(|limit| limit.clone_ref(py)),
            deciding.known_actor().map(|actor| actor.clone_ref(py)),
        );
        let several = Some((PyTuple::new(py, own)?.unbind(), binding));
        let info = tidegate::LimitInfo::from_numbers(merged.numbers());
        Bound::new(py, Self { info, limit, actor, several, receipt: None }).map(Some)
    }

    /// An answer for tests, with the fields that they need. The others are as where nothing is limited, but nothing remains
    /// after a denial.
    pub(super) fn of_fields(py: Python<'_>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let left = fields.map_or_else(|| Ok(PyDict::new(py)), PyDictMethods::copy)?;
        let take = |name: &str| {
            let given = left.get_item(name)?;
            PyResult::Ok(if given.is_some() { left.del_item(name).map(|()| given)? } else { None })
        };
        let mut numbers = tidegate::LimitInfo::unlimited().numbers();
        let mut index = 0;
        for InfoField { name, takes, .. } in tidegate::LimitInfo::FIELDS {
            match takes {
                InfoTakes::Flag(bit) => numbers[0] |= bit * u64::from(Arg::of(take(name)?.as_ref()).flag(name)?),
                InfoTakes::Number => {
                    index += 1;
                    let is_used_up = *name == "remaining" && tidegate::LimitInfo::from_numbers(numbers).blocked;
                    let default = if is_used_up { 0 } else { numbers[index] };
                    numbers[index] = Arg::of(take(name)?.as_ref()).count(name, default)?;
                }
                InfoTakes::Seconds => {}
            }
        }
        let mut info = tidegate::LimitInfo::from_numbers(numbers);
        // An entry that still denies is not empty.
        info.full_reset_ms = info.full_reset_ms.max(info.reset_ms);
        let checks: Vec<Py<Self>> = take("checks")?.map_or_else(|| Ok(Vec::new()), |checks| checks.extract())?;
        let binding = usize::try_from(Arg::of(take("binding")?.as_ref()).count("binding", 0)?).unwrap_or(usize::MAX);
        if binding >= checks.len().max(1) {
            return Err(args::refused("", "binding", "must be an index in checks", binding));
        }
        let several = if checks.len() > 1 { Some((PyTuple::new(py, checks)?.unbind(), binding)) } else { None };
        let key = take("key")?.map_or_else(|| Ok(String::new()), |key| args::text("key", &key).map(Cow::into_owned))?;
        let limit = if key.is_empty() {
            None
        } else {
            let named = [("key".to_owned(), Value::Text(key))];
            Some(Limit::object(py, tidegate::Limit::from_fields(named).map_err(limit_error)?)?.unbind())
        };
        let actor = take("actor")?.map(|actor| PyResult::Ok(args::actor("", &actor)?.unbind())).transpose()?;
        if let Some((name, _)) = left.iter().next() {
            return Err(PyTypeError::new_err(format!("LimitInfo() got an unexpected keyword argument '{name}'")));
        }
        Ok(Self { info, limit, actor, several, receipt: None })
    }
}

/// Of an observed check alone, the answer is that nothing is limited, beside its own.
fn is_alone(receipt: &Receipt, info: &tidegate::LimitInfo) -> bool {
    matches!((receipt.checks.all(), info.checks()), ([_], [one]) if !one.is_observed())
}
