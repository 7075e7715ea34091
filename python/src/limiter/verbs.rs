//! The verbs of a limiter, each once, for callers that wait and for event loops.

#![expect(
    clippy::inline_always,
    reason = "the way of nearly every call: what one function makes for the next is then never written"
)]

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tidegate::Call;
use tidegate::ffi::{self, OfHeld};

use super::caller::{Answer, checks, wait};
pub(crate) use super::caller::{Caller, Given, enter};
pub(super) use super::held::hold;
use super::receipts::{of_call, of_held, settle_info};
use crate::args::Arg;
use crate::check::Checks;
use crate::errors::wrong_type;
use crate::info::LimitInfo;
use crate::request::{Purpose, Request};

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

pub(crate) fn acquire<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    let limiter = caller.limiter();
    let checks = checks(limiter, given)?;
    let key = checks.first_key();
    let max_wait = given.max_wait.max_wait(key)?;
    let now = limiter.now(py, key, given.now)?;
    wait(caller, py, Call::Acquire { max_wait }, checks, now, max_wait)
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
