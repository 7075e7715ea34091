//! The end of what a call was charged: its receipt, and the call that uses it.

use pyo3::prelude::*;
use tidegate::ffi::{self, Charge, OfHeld, Spent};
use tidegate::{Call, Check, ErrorKind};

use super::caller::{Answer, Caller, Given};
use super::state::Limiter;
use crate::args::{self, Arg};
use crate::check::{Checks, items};
use crate::errors::{call_error, limit_error, wrong_type};
use crate::info::LimitInfo;
use crate::receipt::Receipt;
use crate::request::{End, Purpose, Request, Settlement};
use crate::value;

/// Gives back what the call of ``info`` was charged, but for what was ``spent`` of it.
pub(super) fn settle_info<'py>(
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
pub(super) fn of_held<'py>(
    caller: &impl Caller,
    info: &Bound<'py, LimitInfo>,
    what: OfHeld,
    now: Arg<'_, 'py>,
) -> Answer<'py> {
    let receipt = receipt(caller.limiter(), info)?;
    receipt.all_checks().of_limits(ffi::holds_some).map_err(limit_error)?;
    end(caller, info, receipt, End::Held(what), now)
}

/// Ends a hold: releases what the call of ``info`` holds, or settles it.
pub(super) fn end_hold<'py>(limiter: &Limiter, info: &Bound<'py, LimitInfo>, spent: Option<Vec<u64>>) -> Answer<'py> {
    end(limiter, info, receipt(limiter, info)?, spent.map_or(End::Held(OfHeld::Release), End::Spent), Arg(None))
}

/// The release in memory of what a call holds. Nobody asks for its answer, so nothing is kept to make it of.
pub(super) struct Release {
    checks: Checks,
    charge: Charge,
    /// The receipt had not been used before.
    pub(super) is_first: bool,
}

impl Release {
    /// Uses the receipt of this answer.
    pub(super) fn begin(py: Python<'_>, info: &LimitInfo, receipt: &Receipt) -> Self {
        let checks = receipt.all_checks().clone_ref(py);
        Self { checks, charge: info.charge(py), is_first: receipt.close() }
    }

    pub(super) fn make(&self, py: Python<'_>, engine: &tidegate::Limiter) -> PyResult<()> {
        let reply = self.checks.with(py, |checks| {
            let (held, call) = self.charge.on_held(OfHeld::Release, self.is_first, checks);
            engine.decide_sync(&checks[..held], call)
        });
        reply.map(drop).map_err(call_error)
    }
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
pub(super) fn of_call<'py>(py: Python<'py>, given: &Given<'_, 'py>) -> PyResult<Bound<'py, LimitInfo>> {
    let info = given.info.object(py);
    match info.cast::<LimitInfo>() {
        Ok(info) => Ok(info.clone()),
        Err(_) => Err(wrong_type("", "info", "must be the answer to a call", value::describe(&info))),
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
    let spent = if let Some(costs) = items(given) {
        let each = costs.iter().map(number).collect::<PyResult<Vec<_>>>()?;
        ffi::spent(checks, Spent::Each(&each))
    } else {
        ffi::spent(checks, Spent::All(number(given)?))
    };
    spent.map_err(limit_error)
}
