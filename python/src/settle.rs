//! Answers as receipts: the engine says what to do about one, once.

use pyo3::prelude::*;
use tidegate::ffi::{self, Spent};
use tidegate::{Call, Check, ErrorKind, Micros};

use crate::args::Arg;
use crate::asked::{Part, is_list};
use crate::begin::begin_checks;
use crate::bridge::{About, Bridge};
use crate::errors::{call_error, closed, limit_error, wrong_type};
use crate::info::LimitInfo;
use crate::limiter::Limiter;
use crate::receipt::{Asked, Receipt};
use crate::value;

/// A receipt that is being used: the call to make, and the receipt of its answer.
struct Settlement<'a> {
    checks: Vec<Check<'a>>,
    call: Call,
    now: Option<Micros>,
    opened: bool,
    next: Receipt,
}

impl Limiter {
    /// Gives back what the call of ``info`` was charged, but for what was ``spent`` of it.
    pub(crate) fn settle_info(
        &self,
        info: &Bound<'_, PyAny>,
        spent: Option<&Bound<'_, PyAny>>,
        now: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        let py = info.py();
        self.settling(info, spent, now, |info, settlement| {
            let Settlement { checks, call, now, opened, next } = settlement;
            // An error of Python's own may come when the call is on its way, so the receipt stays used up.
            let answer = self.decided(py, call, &checks, now)?;
            reopen(info, opened, &answer);
            LimitInfo::of(py, next, answer.map_err(call_error)?)
        })
    }

    /// [`settle_info`](Self::settle_info), begun for an event loop.
    pub(crate) fn begin_settle<'py>(
        &self,
        info: &Bound<'py, PyAny>,
        spent: Option<&Bound<'py, PyAny>>,
        now: Arg<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = info.py();
        // Fails without a running loop, before the receipt is used.
        Bridge::here(py)?;
        self.settling(info, spent, now, |info, settlement| {
            let Settlement { checks, call, now, opened, next } = settlement;
            let about = About::Settled { info: info.clone().unbind(), opened, next };
            begin_checks(py, self, call, &checks, now, about)
        })
    }

    fn settling<'py, T>(
        &self,
        info: &Bound<'py, PyAny>,
        spent: Option<&Bound<'py, PyAny>>,
        now: Arg<'_, 'py>,
        make: impl FnOnce(&Bound<'py, LimitInfo>, Settlement<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        let py = info.py();
        let Ok(info) = info.cast::<LimitInfo>() else {
            return Err(wrong_type("", "info", "must be the answer of a call", value::describe(info)));
        };
        let receipt = self.receipt(info)?;
        let asked = receipt.asked.all();
        let actors: Vec<_> = asked.iter().map(|one| one.actor.bind(py).as_any()).collect();
        let parts: Vec<Part<'_, '_>> =
            asked.iter().zip(&actors).map(|(one, actor)| one.part(py, actor)).collect::<PyResult<_>>()?;
        let mut checks: Vec<_> = parts.iter().map(Part::check).collect();
        let spent = spent.map_or_else(|| Ok(vec![0; checks.len()]), |spent| read_spent(&checks, spent))?;
        let now = self.now(py, info.get().key(), now)?;
        let asked = Asked::of(&parts)?;
        self.opened().as_deref().ok_or_else(closed)?;
        let opened = receipt.close();
        let call = info.get().charge(py).settle(opened, &mut checks, &spent);
        let next = Receipt::new(self.owner, call, asked);
        make(info, Settlement { checks, call, now, opened, next })
    }

    /// The receipt in an answer of this very limiter.
    fn receipt<'a>(&self, info: &'a Bound<'_, LimitInfo>) -> PyResult<&'a Receipt> {
        let refused = |given| {
            let problem = "must be the answer that a call of this limiter gave";
            limit_error(tidegate::LimitError::new(ErrorKind::Range, info.get().key(), "info", problem, given))
        };
        match &info.get().receipt {
            None => Err(refused("a part or a pickled copy of one")),
            Some(receipt) if receipt.owner != self.owner => Err(refused("one of another limiter")),
            Some(receipt) => Ok(receipt),
        }
    }
}

/// After a settlement that certainly did not happen, the receipt may be used again.
pub(crate) fn reopen(info: &Bound<'_, LimitInfo>, opened: bool, answer: &Result<tidegate::LimitInfo, tidegate::Error>) {
    if let (true, Err(error), Some(receipt)) = (opened, answer, &info.get().receipt)
        && !error.may_have_happened()
    {
        receipt.reopen();
    }
}

/// The actual cost of each check: one for all, or a list of them.
fn read_spent(checks: &[Check<'_>], given: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let key = checks.first().map_or("", Check::key);
    let number = |given: &Bound<'_, PyAny>| crate::args::number(key, "cost", given);
    let spent = if is_list(given) {
        let each = given.try_iter()?.map(|cost| number(&cost?)).collect::<PyResult<Vec<_>>>()?;
        ffi::spent(checks, Spent::Each(&each))
    } else {
        ffi::spent(checks, Spent::All(number(given)?))
    };
    spent.map_err(limit_error)
}
