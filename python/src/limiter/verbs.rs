//! The verbs of a limiter, each once, for callers that wait and for event loops.

#![expect(
    clippy::inline_always,
    reason = "the way of nearly every call: what one function makes for the next is then never written"
)]

use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate::ffi::{self, Spent};
use tidegate::{Call, Check, ErrorKind};

use super::state::Limiter;
use crate::args::{self, Arg};
use crate::check::{Checks, is_list};
use crate::errors::{limit_error, wrong_type};
use crate::info::LimitInfo;
use crate::receipt::Receipt;
use crate::request::{Purpose, Request, Settlement};
use crate::value;

/// A class with these verbs: it waits for the reply of each call, or begins the call for an event loop.
pub(crate) trait Caller {
    fn limiter(&self) -> &Limiter;

    /// Fails where no call can be made, before a receipt is used for one.
    fn ready(&self, py: Python<'_>) -> PyResult<()>;

    /// The answer of a call, or an object to await it by.
    fn call<'py>(&self, py: Python<'py>, request: Request) -> PyResult<Bound<'py, PyAny>>;

    /// The answer of a call that may wait for its turn, or an object to await it by.
    fn wait<'py>(&self, py: Python<'py>, request: Request, max_wait: Duration) -> PyResult<Bound<'py, PyAny>>;
}

/// The arguments of a verb; those that it does not have are empty.
#[derive(Clone, Copy, Default)]
pub(crate) struct Given<'a, 'py> {
    pub(crate) limit: Arg<'a, 'py>,
    pub(crate) info: Arg<'a, 'py>,
    pub(crate) checks: Arg<'a, 'py>,
    pub(crate) actor: Arg<'a, 'py>,
    pub(crate) cost: Arg<'a, 'py>,
    pub(crate) factor: Arg<'a, 'py>,
    pub(crate) now: Arg<'a, 'py>,
    pub(crate) max_wait: Arg<'a, 'py>,
    pub(crate) at_least: Arg<'a, 'py>,
    pub(crate) remaining: Arg<'a, 'py>,
    pub(crate) retry_after: Arg<'a, 'py>,
    pub(crate) context: Arg<'a, 'py>,
}

type Answer<'py> = PyResult<Bound<'py, PyAny>>;

#[inline(always)]
pub(crate) fn limit<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    decide(caller, py, Call::Limit, Purpose::Answer, given)
}

pub(crate) fn peek<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    decide(caller, py, Call::Peek, Purpose::Answer, given)
}

pub(crate) fn charge<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    decide(caller, py, Call::Charge, Purpose::Answer, given)
}

pub(crate) fn explain<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    decide(caller, py, Call::Peek, Purpose::Explanation, given)
}

pub(crate) fn reset<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    decide(caller, py, Call::Reset, Purpose::Answer, given)
}

pub(crate) fn observe<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    let limiter = caller.limiter();
    let checks = checks(limiter, given)?;
    let key = checks.first_key();
    let call = Call::Observe {
        remaining: given.remaining.remaining(key)?,
        retry_after: given.retry_after.seconds(key, "retry_after", ffi::retry_after)?,
    };
    let now = limiter.now(py, key, given.now)?;
    caller.call(py, Request { owner: limiter.owner, call, checks, now, purpose: Purpose::Answer })
}

pub(crate) fn limit_all<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    decide_all(caller, py, Call::Limit, given)
}

pub(crate) fn peek_all<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    decide_all(caller, py, Call::Peek, given)
}

pub(crate) fn refund<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    let limit = given.limit.object(py);
    let Ok(info) = limit.cast::<LimitInfo>() else {
        if limit.cast::<PyDict>().is_ok_and(|dict| dict.contains("blocked").unwrap_or(false)) {
            let problem = "must be the answer itself, which knows its charge";
            return Err(wrong_type("", "info", problem, "its fields in a dictionary"));
        }
        let actor = given.actor.object(py);
        return decide(caller, py, Call::Refund, Purpose::Answer, &Given { actor: Arg::of(Some(&actor)), ..*given });
    };
    let key = info.get().key();
    let is_alone =
        given.actor.is_none() && given.cost.cost(key)? == 1 && given.factor.factor(key)?.to_bits() == 1.0_f64.to_bits();
    if !is_alone {
        return Err(wrong_type(
            key,
            "info",
            "must be given alone: refund(info) takes no actor, cost or factor",
            "more",
        ));
    }
    settle_info(caller, info, None, given.now)
}

pub(crate) fn settle<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    let info = given.info.object(py);
    match info.cast::<LimitInfo>() {
        Ok(info) => settle_info(caller, info, Some(&given.cost.object(py)), given.now),
        Err(_) => Err(wrong_type("", "info", "must be the answer of a call", value::describe(&info))),
    }
}

pub(crate) fn acquire<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    let limiter = caller.limiter();
    let checks = checks(limiter, given)?;
    let key = checks.first_key();
    let max_wait = given.max_wait.max_wait(key)?;
    let now = limiter.now(py, key, given.now)?;
    let purpose = if now.is_some() { Purpose::Answer } else { Purpose::Wait };
    let request = Request { owner: limiter.owner, call: Call::Acquire { max_wait }, checks, now, purpose };
    caller.wait(py, request, max_wait)
}

#[inline(always)]
fn decide<'py>(
    caller: &impl Caller,
    py: Python<'py>,
    call: Call,
    purpose: Purpose,
    given: &Given<'_, 'py>,
) -> Answer<'py> {
    let limiter = caller.limiter();
    let checks = at_least(checks(limiter, given)?, given)?;
    // A reset happens at no instant.
    let now = if call == Call::Reset { None } else { limiter.now(py, checks.first_key(), given.now)? };
    caller.call(py, Request { owner: limiter.owner, call, checks, now, purpose })
}

fn decide_all<'py>(caller: &impl Caller, py: Python<'py>, call: Call, given: &Given<'_, 'py>) -> Answer<'py> {
    let limiter = caller.limiter();
    let checks = at_least(limiter.checks_of_all(&given.checks.object(py), given.context)?, given)?;
    let now = limiter.now(py, checks.first_key(), given.now)?;
    caller.call(py, Request { owner: limiter.owner, call, checks, now, purpose: Purpose::Answer })
}

/// The checks, with the least part of their cost if that is given.
#[inline(always)]
fn at_least(checks: Checks, given: &Given<'_, '_>) -> PyResult<Checks> {
    if given.at_least.is_none() {
        return Ok(checks);
    }
    let units = given.at_least.at_least(checks.first_key())?;
    Ok(checks.at_least(units))
}

#[inline(always)]
fn checks(limiter: &Limiter, given: &Given<'_, '_>) -> PyResult<Checks> {
    let (limit, actor) = (given.limit.0.as_deref(), given.actor.0.as_deref());
    let (limit, actor) = limit.zip(actor).ok_or_else(|| PyTypeError::new_err("limit and actor are missing"))?;
    limiter.checks(limit, actor, given.cost, given.factor, given.context)
}

/// Gives back what the call of ``info`` was charged, but for what was ``spent`` of it.
fn settle_info<'py>(
    caller: &impl Caller,
    info: &Bound<'py, LimitInfo>,
    spent: Option<&Bound<'py, PyAny>>,
    now: Arg<'_, 'py>,
) -> Answer<'py> {
    let (py, limiter) = (info.py(), caller.limiter());
    let receipt = receipt(limiter, info)?;
    let spent = receipt.checks.with(py, |checks| match spent {
        None => Ok(vec![0; checks.len()]),
        Some(spent) => read_spent(checks, spent),
    })?;
    let now = limiter.now(py, info.get().key(), now)?;
    let checks = receipt.checks.clone_ref(py);
    caller.ready(py)?;
    let is_first = receipt.close();
    let charge = info.get().charge(py);
    let purpose = Purpose::Settlement(Box::new(Settlement { info: info.clone().unbind(), is_first, charge, spent }));
    // Its answer charges nothing that could be given back.
    caller.call(py, Request { owner: limiter.owner, call: Call::Peek, checks, now, purpose })
}

/// The receipt in an answer of this very limiter.
fn receipt<'a>(limiter: &Limiter, info: &'a Bound<'_, LimitInfo>) -> PyResult<&'a Receipt> {
    let refused = |given| {
        let problem = "must be the answer that a call of this limiter gave";
        limit_error(tidegate::LimitError::new(ErrorKind::Range, info.get().key(), "info", problem, given))
    };
    match &info.get().receipt {
        None => Err(refused("a part or a pickled copy of one")),
        Some(receipt) if receipt.owner != limiter.owner => Err(refused("one of another limiter")),
        Some(receipt) => Ok(receipt),
    }
}

/// The actual cost of each check: one for all, or a list of them.
fn read_spent(checks: &[Check<'_>], given: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let key = checks.first().map_or("", Check::key);
    let number = |given: &Bound<'_, PyAny>| args::number(key, "cost", given);
    let spent = if is_list(given) {
        let each = given.try_iter()?.map(|cost| number(&cost?)).collect::<PyResult<Vec<_>>>()?;
        ffi::spent(checks, Spent::Each(&each))
    } else {
        ffi::spent(checks, Spent::All(number(given)?))
    };
    spent.map_err(limit_error)
}
