//! The request of one call: its arguments for the engine, and the meaning of the reply.

use pyo3::prelude::*;
use tidegate::ffi::{Charge, OfHeld};
use tidegate::{Call, Check, Micros};

use crate::call_explanation::CallExplanation;
use crate::check::Checks;
use crate::errors::call_error;
use crate::info::LimitInfo;
use crate::receipt::{Owner, Receipt};

/// The engine's reply to a call.
pub(crate) type Reply = Result<tidegate::LimitInfo, tidegate::Error>;

pub(crate) struct Request {
    pub(crate) owner: Owner,
    pub(crate) call: Call,
    pub(crate) checks: Checks,
    pub(crate) now: Option<Micros>,
    pub(crate) purpose: Purpose,
}

/// The meaning of a reply.
pub(crate) enum Purpose {
    Answer,
    /// The reply to a wait: one that is denied gives nothing back.
    Wait,
    Explanation,
    Settlement(Box<Settlement>),
}

/// The use of a receipt.
pub(crate) struct Settlement {
    /// The answer that is the receipt.
    pub(crate) info: Py<LimitInfo>,
    /// The receipt had not been used before.
    pub(crate) is_first: bool,
    pub(crate) charge: Charge,
    pub(crate) end: End,
}

/// The end of a charge.
pub(crate) enum End {
    /// The actual cost of each check.
    Spent(Vec<u64>),
    /// Units that are held are given back, or held for another lease.
    Held(OfHeld),
}

impl Settlement {
    /// The call to make, and the checks that it is about.
    #[inline(never)]
    fn made<'a, 'c>(&self, checks: &'a mut [Check<'c>]) -> (&'a [Check<'c>], Call) {
        match &self.end {
            End::Spent(spent) => {
                let call = self.charge.settle(self.is_first, checks, spent);
                (checks, call)
            }
            End::Held(what) => {
                let (held, call) = self.charge.on_held(*what, self.is_first, checks);
                (&checks[..held], call)
            }
        }
    }

    /// The receipt of an answer about the units that are held.
    fn receipt_of_held(
        &self,
        py: Python<'_>,
        owner: Owner,
        checks: Checks,
        what: OfHeld,
        info: &tidegate::LimitInfo,
    ) -> Receipt {
        let held = checks.holding(py);
        let renewed = match what {
            OfHeld::Renew if self.is_first => checks.with(py, |checks| self.charge.renewed(checks, &info.into())),
            _ => None,
        };
        if let (Some(_), Some(used)) = (&renewed, &self.info.get().receipt) {
            used.close();
        }
        Receipt::of_held(owner, held, checks, renewed)
    }
}

impl Request {
    /// Calls the engine with it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the way of nearly every call")]
    pub(crate) fn with<T>(&self, py: Python<'_>, call: impl FnOnce(&[Check<'_>], Call, Option<Micros>) -> T) -> T {
        self.checks.with(py, |checks| {
            let (checks, made) = match &self.purpose {
                Purpose::Settlement(settlement) => settlement.made(checks),
                _ => (&*checks, self.call),
            };
            call(checks, made, self.now)
        })
    }

    /// It charges at this instant, and is answered by that.
    #[inline]
    pub(crate) fn is_usual(&self) -> bool {
        matches!((&self.purpose, self.call, self.now), (Purpose::Answer, Call::Limit, None))
    }

    /// It takes units that a caller who is gone when the answer comes could not release. What takes as much of its cost
    /// as there is room for cannot be given up.
    pub(crate) fn is_to_be_released(&self) -> bool {
        matches!((&self.purpose, self.call), (Purpose::Answer, Call::Limit)) && self.checks.hold_all_of_their_cost()
    }

    /// Opens a receipt again whose settlement certainly did not happen. For every reply, awaited or not.
    pub(crate) fn note(&self, reply: &Reply) {
        if let (Purpose::Settlement(settlement), Err(error)) = (&self.purpose, reply)
            && let Some(receipt) = &settlement.info.get().receipt
            && settlement.is_first
            && !matches!(settlement.end, End::Held(OfHeld::Renew))
            && !error.may_have_happened()
        {
            receipt.reopen();
        }
    }

    /// The object that the call returns.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the way of nearly every call")]
    pub(crate) fn complete(self, py: Python<'_>, reply: Reply) -> PyResult<Bound<'_, PyAny>> {
        if let Purpose::Answer = self.purpose
            && !matches!(self.call, Call::Reset)
        {
            let info = reply.map_err(call_error)?;
            return answer(py, Receipt::new(self.owner, self.call, self.checks), info);
        }
        self.complete_other(py, reply)
    }

    #[inline(never)]
    fn complete_other(self, py: Python<'_>, reply: Reply) -> PyResult<Bound<'_, PyAny>> {
        self.note(&reply);
        let info = reply.map_err(call_error)?;
        let Self { owner, call, checks, purpose, .. } = self;
        match purpose {
            Purpose::Explanation => Ok(Bound::new(py, CallExplanation::new(py, owner, checks, info)?)?.into_any()),
            Purpose::Wait => answer(py, Receipt::of_wait(owner, checks, &info), info),
            Purpose::Answer => Ok(py.None().into_bound(py)),
            Purpose::Settlement(settlement) => {
                let receipt = match settlement.end {
                    End::Spent(_) => Receipt::new(owner, call, checks),
                    End::Held(what) => settlement.receipt_of_held(py, owner, checks, what, &info),
                };
                answer(py, receipt, info)
            }
        }
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "the way of nearly every call")]
fn answer(py: Python<'_>, receipt: Receipt, info: tidegate::LimitInfo) -> PyResult<Bound<'_, PyAny>> {
    Ok(LimitInfo::object(py, receipt, info)?.into_any())
}
