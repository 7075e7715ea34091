//! Common parts of the verbs: a class that has them, their arguments, and the checks in these.

#![expect(
    clippy::inline_always,
    reason = "the way of nearly every call: what one function makes for the next is then never written"
)]

use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use tidegate::{Call, Micros, ffi};

use super::state::Limiter;
use crate::args::Arg;
use crate::check::Checks;
use crate::errors::limit_error;
use crate::request::{Purpose, Request};

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

pub(super) type Answer<'py> = PyResult<Bound<'py, PyAny>>;

#[inline(always)]
pub(super) fn checks(limiter: &Limiter, given: &Given<'_, '_>) -> PyResult<Checks> {
    let (limit, actor) = (given.limit.0.as_deref(), given.actor.0.as_deref());
    let (limit, actor) = limit.zip(actor).ok_or_else(|| PyTypeError::new_err("limit and actor are missing"))?;
    limiter.checks(limit, actor, given.cost, given.factor, given.context)
}

/// Takes what a hold holds, at once or within its longest wait.
pub(crate) fn enter<'py>(caller: &impl Caller, py: Python<'py>, given: &Given<'_, 'py>) -> Answer<'py> {
    let limiter = caller.limiter();
    let taking = Taking::of(limiter, py, given)?;
    // In memory nothing can be given up meanwhile.
    if taking.call == Call::Limit && !limiter.is_shared() {
        let Taking { call, checks, now, .. } = taking;
        return caller.call(py, Request { owner: limiter.owner, call, checks, now, purpose: Purpose::Answer });
    }
    taking.wait(caller, py)
}

/// The call that takes what a hold holds.
pub(super) struct Taking {
    pub(super) call: Call,
    pub(super) checks: Checks,
    pub(super) now: Option<Micros>,
    max_wait: Duration,
}

impl Taking {
    #[inline(always)]
    pub(super) fn of(limiter: &Limiter, py: Python<'_>, given: &Given<'_, '_>) -> PyResult<Self> {
        let mut checks = checks(limiter, given)?;
        if !given.costs.is_none() {
            checks.set_costs(&given.costs.object(py))?;
        }
        checks.of_limits(ffi::may_hold).map_err(limit_error)?;
        let key = checks.first_key();
        let max_wait = if given.max_wait.is_none() { Duration::ZERO } else { given.max_wait.max_wait(key)? };
        let now = limiter.now(py, key, Arg(None))?;
        let call = if max_wait.is_zero() { Call::Limit } else { Call::Acquire { max_wait } };
        Ok(Self { call, checks, now, max_wait })
    }

    pub(super) fn wait<'py>(self, caller: &impl Caller, py: Python<'py>) -> Answer<'py> {
        wait(caller, py, self.call, self.checks, self.now, self.max_wait)
    }
}

pub(super) fn wait<'py>(
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
