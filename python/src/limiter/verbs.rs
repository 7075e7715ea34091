//! The verbs of a limiter, each once, for callers that wait and for event loops.

#![expect(
    clippy::inline_always,
    reason = "the way of nearly every call: what one function makes for the next is then never written"
)]

use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyInt};
use tidegate::ffi::{self, OfHeld, Spent};
use tidegate::{Call, Check, ErrorKind, Micros};

use super::state::Limiter;
use crate::args::{self, Arg};
use crate::check::{Checks, is_list};
use crate::errors::{limit_error, wrong_type};
use crate::info::LimitInfo;
use crate::receipt::Receipt;
use crate::request::{End, Purpose, Request, Settlement};
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
    pub(crate) time: Arg<'a, 'py>,
    pub(crate) cost: Arg<'a, 'py>,
    pub(crate) costs: Arg<'a, 'py>,
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

pub(crate) fn block<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    let limiter = caller.limiter();
    let checks = checks(limiter, given)?;
    let key = checks.first_key();
    let time = given.time.seconds(key, "time", ffi::block_time)?;
    let time = time.ok_or_else(|| wrong_type(key, "time", "must be a number of seconds or a timedelta", "None"))?;
    let now = limiter.now(py, key, given.now)?;
    caller.call(py, Request { owner: limiter.owner, call: Call::Block { time }, checks, now, purpose: Purpose::Answer })
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
    let info = of_call(py, given)?;
    settle_info(caller, &info, Some(&given.cost.object(py)), given.now)
}

pub(crate) fn release<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    of_held(caller, &of_call(py, given)?, OfHeld::Release, given.now)
}

pub(crate) fn renew<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    of_held(caller, &of_call(py, given)?, OfHeld::Renew, given.now)
}

/// A hold, whose block takes the units.
pub(crate) fn hold<'py>(limiter: &Bound<'py, Limiter>, given: &Given<'_, 'py>) -> Answer<'py> {
    static HELD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = limiter.py();
    let Given { limit, actor, cost, costs, factor, max_wait, context, .. } = *given;
    let or_one = |given: Arg<'_, 'py>| given.0.map_or_else(|| PyInt::new(py, 1).into_any(), Borrowed::to_owned);
    let [limit, actor, costs, max_wait, context] =
        [limit, actor, costs, max_wait, context].map(|given| given.object(py));
    HELD.import(py, "tidegate._hold", "Held")?.call1((
        limiter,
        limit,
        actor,
        or_one(cost),
        costs,
        or_one(factor),
        max_wait,
        context,
    ))
}

/// Takes what a hold holds, at once or within `max_wait`.
pub(crate) fn enter<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    let limiter = caller.limiter();
    let mut checks = checks(limiter, given)?;
    if !given.costs.is_none() {
        checks.set_costs(&given.costs.object(py))?;
    }
    checks.with(py, |checks| ffi::holds_some(checks)).map_err(limit_error)?;
    let key = checks.first_key();
    let max_wait = if given.max_wait.is_none() { Duration::ZERO } else { given.max_wait.max_wait(key)? };
    let now = limiter.now(py, key, Arg(None))?;
    let call = if max_wait.is_zero() { Call::Limit } else { Call::Acquire { max_wait } };
    // In memory nothing can be given up meanwhile.
    if call == Call::Limit && !limiter.is_shared() {
        return caller.call(py, Request { owner: limiter.owner, call, checks, now, purpose: Purpose::Answer });
    }
    wait(caller, py, call, checks, now, max_wait)
}

pub(crate) fn acquire<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    let limiter = caller.limiter();
    let checks = checks(limiter, given)?;
    let key = checks.first_key();
    let max_wait = given.max_wait.max_wait(key)?;
    let now = limiter.now(py, key, given.now)?;
    wait(caller, py, Call::Acquire { max_wait }, checks, now, max_wait)
}

fn wait<'py>(
    caller: &impl Caller,
    py: Python<'py>,
    call: Call,
    checks: Checks,
    now: Option<Micros>,
    max_wait: Duration,
) -> Answer<'py> {
    let purpose = if now.is_some() { Purpose::Answer } else { Purpose::Wait };
    let request = Request { owner: caller.limiter().owner, call, checks, now, purpose };
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
    let py = info.py();
    let receipt = receipt(caller.limiter(), info)?;
    let spent = receipt.all_checks().with(py, |checks| match spent {
        None => Ok(vec![0; checks.len()]),
        Some(spent) => read_spent(checks, spent),
    })?;
    end(caller, info, receipt, End::Spent(spent), now)
}

/// Releases what the call of ``info`` holds, or renews it.
fn of_held<'py>(caller: &impl Caller, info: &Bound<'py, LimitInfo>, what: OfHeld, now: Arg<'_, 'py>) -> Answer<'py> {
    let receipt = receipt(caller.limiter(), info)?;
    receipt.all_checks().with(info.py(), |checks| ffi::holds_some(checks)).map_err(limit_error)?;
    end(caller, info, receipt, End::Held(what), now)
}

fn end<'py>(
    caller: &impl Caller,
    info: &Bound<'py, LimitInfo>,
    receipt: &Receipt,
    end: End,
    now: Arg<'_, 'py>,
) -> Answer<'py> {
    let (py, limiter) = (info.py(), caller.limiter());
    let now = limiter.now(py, info.get().key(), now)?;
    let checks = receipt.all_checks().clone_ref(py);
    caller.ready(py)?;
    // A renewal uses a receipt only where it renews.
    let is_first = if matches!(end, End::Held(OfHeld::Renew)) { receipt.is_open() } else { receipt.close() };
    let charge = info.get().charge(py);
    let purpose = Purpose::Settlement(Box::new(Settlement { info: info.clone().unbind(), is_first, charge, end }));
    // Its answer charges nothing that could be given back, unless it is that of a renewal.
    caller.call(py, Request { owner: limiter.owner, call: Call::Peek, checks, now, purpose })
}

/// The answer of a call among the arguments.
fn of_call<'py>(py: Python<'py>, given: &Given<'_, 'py>) -> PyResult<Bound<'py, LimitInfo>> {
    let info = given.info.object(py);
    match info.cast::<LimitInfo>() {
        Ok(info) => Ok(info.clone()),
        Err(_) => Err(wrong_type("", "info", "must be the answer of a call", value::describe(&info))),
    }
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
