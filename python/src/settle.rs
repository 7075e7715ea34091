//! Answers as receipts: what a call charged, given back or corrected, once.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use tidegate::{Call, Check, ErrorKind, Micros};

use crate::args::Arg;
use crate::asked::{Part, is_list};
use crate::begin::begin_checks;
use crate::bridge::About;
use crate::errors::{StoreError, limit_error, wrong_type};
use crate::info::LimitInfo;
use crate::limiter::Limiter;
use crate::receipt::{Asked, Receipt, Wanted};
use crate::value;

/// What an answer is to be corrected by: first what was used beyond it is charged, then what was not is given back.
///
/// It holds the answer's receipt from the beginning on, so that nobody else corrects it as well.
#[pyclass(frozen, name = "_Correction", module = "tidegate._tidegate")]
pub(crate) struct Correction {
    info: Py<LimitInfo>,
    costs: Vec<Costs>,
    now: Option<Micros>,
    /// The receipt was open when this began.
    opened: bool,
    /// What was used beyond the answer has been charged, and must not be charged again.
    charged: AtomicBool,
}

/// With these, a store may have done what it was asked for.
const MAYBE_DONE: [&str; 2] = ["disconnected", "unreplicated"];

#[pymethods]
impl Correction {
    /// Begins to charge what was used beyond the answer; ``None`` where nothing was.
    fn charge<'py>(&self, limiter: &Bound<'py, Limiter>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.charges() { self.begin(limiter, Call::Charge).map(Some) } else { Ok(None) }
    }

    /// Begins to give back what was not used; ``None`` where that is nothing and the charge has answered.
    fn undo<'py>(&self, limiter: &Bound<'py, Limiter>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.charged.store(self.charges(), Ordering::Relaxed);
        if self.undoes() { self.begin(limiter, self.undoing()).map(Some) } else { Ok(None) }
    }

    /// It failed with this: it may be tried again, unless it may have been carried out.
    fn failed(&self, error: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = error.py();
        let in_doubt = error.is_instance(&py.get_type::<StoreError>())?
            && MAYBE_DONE.contains(&error.getattr("failure")?.extract::<String>()?.as_str());
        if self.opened
            && !in_doubt
            && !self.charged.load(Ordering::Relaxed)
            && let Some(receipt) = &self.info.get().receipt
        {
            receipt.reopen();
        }
        Ok(())
    }
}

impl Correction {
    fn charges(&self) -> bool {
        self.costs.iter().any(|both| both.actual > both.charged)
    }

    fn undoes(&self) -> bool {
        !self.charges() || self.costs.iter().any(|both| both.actual < both.charged)
    }

    /// What was charged by this process alone is given back by it alone.
    fn undoing(&self) -> Call {
        let tidegate::LimitInfo { at: charged_at, degraded, .. } = self.info.get().info;
        if degraded { Call::UndoDegraded { charged_at } } else { Call::Undo { charged_at } }
    }

    /// Makes one of the two calls; its answer is a receipt of nothing more to correct.
    fn step<T>(
        &self,
        py: Python<'_>,
        limiter: &Limiter,
        call: Call,
        ask: impl FnOnce(&[Check<'_>], Receipt) -> PyResult<T>,
    ) -> PyResult<T> {
        let asked = self.info.get().receipt.as_ref().map_or(&[][..], |receipt| receipt.asked.all());
        let actors: Vec<_> = asked.iter().map(|one| one.actor.bind(py).as_any()).collect();
        let parts: Vec<Part<'_, '_>> =
            asked.iter().zip(&actors).map(|(one, actor)| one.part(py, actor)).collect::<PyResult<_>>()?;
        let checks: Vec<_> = parts.iter().zip(&self.costs).map(|(part, both)| both.of(part.check(), call)).collect();
        ask(&checks, Receipt::new(limiter.owner, self.undoing(), Asked::of(&parts)?))
    }

    fn begin<'py>(&self, limiter: &Bound<'py, Limiter>, call: Call) -> PyResult<Bound<'py, PyAny>> {
        let (py, limiter) = (limiter.py(), limiter.get());
        self.step(py, limiter, call, |checks, receipt| {
            begin_checks(py, limiter, call, checks, self.now, About::Answer(receipt))
        })
    }

    /// Both calls, each awaited on this thread.
    fn make(&self, py: Python<'_>, limiter: &Limiter) -> PyResult<LimitInfo> {
        let ask = |call| {
            self.step(py, limiter, call, |checks, receipt| {
                LimitInfo::of(py, receipt, limiter.ask(py, call, checks, self.now)?)
            })
        };
        let charged = if self.charges() { Some(ask(Call::Charge)?) } else { None };
        self.charged.store(charged.is_some(), Ordering::Relaxed);
        match charged {
            Some(answer) if !self.undoes() => Ok(answer),
            _ => ask(self.undoing()),
        }
    }
}

impl Limiter {
    /// Gives back all that the call was charged.
    pub(crate) fn refund_info(&self, info: &Bound<'_, LimitInfo>, now: Arg<'_, '_>) -> PyResult<LimitInfo> {
        self.correct(info.py(), &self.correction(info, None, now)?)
    }

    /// Makes of the cost that was charged the one that was used.
    pub(crate) fn settle_info(
        &self,
        info: &Bound<'_, PyAny>,
        actual: &Bound<'_, PyAny>,
        now: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        self.correct(info.py(), &self.correction(info, Some(actual), now)?)
    }

    fn correct(&self, py: Python<'_>, correction: &Correction) -> PyResult<LimitInfo> {
        let corrected = correction.make(py, self);
        if let Err(error) = &corrected {
            correction.failed(error.value(py))?;
        }
        corrected
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

    /// What is to be done about an answer: without an actual cost, all of it is given back.
    pub(crate) fn correction(
        &self,
        info: &Bound<'_, PyAny>,
        actual: Option<&Bound<'_, PyAny>>,
        now: Arg<'_, '_>,
    ) -> PyResult<Correction> {
        let Ok(info) = info.cast::<LimitInfo>() else {
            return Err(wrong_type("", "info", "must be the answer of a call", value::describe(info)));
        };
        let receipt = self.receipt(info)?;
        let asked = receipt.asked.all();
        let actual = actual.map_or_else(|| Ok(vec![0; asked.len()]), |actual| costs(asked, actual))?;
        let now = self.now(info.py(), info.get().key(), now)?;
        let denied = info.get().info.blocked;
        let mut costs = Vec::with_capacity(asked.len());
        for (one, actual) in asked.iter().zip(actual) {
            let charged = if !denied || one.counts_blocked(info.py())? { one.cost } else { 0 };
            let actual = if charged > 0 || !denied { actual } else { 0 };
            costs.push(Costs { charged, actual });
        }
        let opened = receipt.close();
        if !opened {
            costs.fill(Costs::default());
        }
        Ok(Correction { info: info.clone().unbind(), costs, now, opened, charged: AtomicBool::new(false) })
    }
}

/// What a check was charged, and what it should have been.
#[derive(Clone, Copy, Default)]
struct Costs {
    charged: u64,
    actual: u64,
}

impl Costs {
    fn of<'a>(&self, check: Check<'a>, call: Call) -> Check<'a> {
        match call {
            Call::Charge => check.cost(self.actual.saturating_sub(self.charged)),
            // The whole cost, for what was spent of it has been draining too.
            _ => check.cost(self.charged).spent(self.actual),
        }
    }
}

/// The actual cost of each check: one for all, or a list of them.
fn costs(asked: &[Wanted], actual: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    const FIELD: &str = "cost";
    let key = asked.first().map_or("", |one| one.limit.get().0.key());
    let problem = "must be a list of one cost for each check where the checks cost differently";
    if is_list(actual) {
        let given = actual.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        if given.len() != asked.len() {
            let given = format!("{} costs for {} checks", given.len(), asked.len());
            return Err(limit_error(tidegate::LimitError::new(ErrorKind::Range, key, FIELD, problem, given)));
        }
        return given
            .iter()
            .zip(asked)
            .map(|(cost, one)| Arg(Some(cost.as_borrowed())).cost(one.limit.get().0.key()))
            .collect();
    }
    let cost = Arg(Some(actual.as_borrowed())).cost(key)?;
    if asked.windows(2).any(|two| two[0].cost != two[1].cost) {
        return Err(wrong_type(key, FIELD, problem, value::read(actual)?));
    }
    Ok(vec![cost; asked.len()])
}
