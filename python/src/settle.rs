//! Answers as receipts: what a call charged, given back or corrected, once.

use pyo3::prelude::*;
use tidegate::{Call, Check, ErrorKind};

use crate::args::Arg;
use crate::asked::{Part, is_list};
use crate::errors::{limit_error, wrong_type};
use crate::info::LimitInfo;
use crate::limiter::Limiter;
use crate::receipt::{Asked, Receipt, Wanted};
use crate::value;

impl Limiter {
    /// Gives back all that the call was charged.
    pub(crate) fn refund_info(&self, info: &Bound<'_, LimitInfo>, now: Arg<'_, '_>) -> PyResult<LimitInfo> {
        let receipt = self.receipt(info)?;
        self.correct(info, receipt, &vec![0; receipt.asked.all().len()], now)
    }

    /// Makes of the cost that was charged the one that was used.
    pub(crate) fn settle_info(
        &self,
        info: &Bound<'_, LimitInfo>,
        actual: &Bound<'_, PyAny>,
        now: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        let receipt = self.receipt(info)?;
        self.correct(info, receipt, &costs(receipt.asked.all(), actual)?, now)
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

    fn correct(
        &self,
        info: &Bound<'_, LimitInfo>,
        receipt: &Receipt,
        actual: &[u64],
        now: Arg<'_, '_>,
    ) -> PyResult<LimitInfo> {
        let py = info.py();
        let now = now.now(info.get().key())?;
        let asked = receipt.asked.all();
        let denied = info.get().info.blocked;
        let mut corrections = Vec::with_capacity(asked.len());
        for (one, actual) in asked.iter().zip(actual) {
            let charged = if !denied || one.counts_blocked(py)? { one.cost } else { 0 };
            let actual = if charged > 0 || !denied { *actual } else { 0 };
            corrections.push(Correction { charged, actual });
        }
        let actors: Vec<_> = asked.iter().map(|one| one.actor.bind(py).as_any().clone()).collect();
        let parts: Vec<Part<'_, '_>> =
            asked.iter().zip(&actors).map(|(one, actor)| one.part(py, actor)).collect::<PyResult<_>>()?;

        let open = receipt.close();
        if !open {
            corrections.fill(Correction::default());
        }
        let decide = |call, of: for<'a> fn(&Correction, Check<'a>) -> Check<'a>| {
            let checks: Vec<_> = parts.iter().zip(&corrections).map(|(part, both)| of(both, part.check())).collect();
            self.ask(call, &checks, now)
        };
        let undo = Call::Undo { charged_at: info.get().info.at };
        let some_more = corrections.iter().any(|both| both.actual > both.charged);
        let charged = some_more.then(|| decide(Call::Charge, |both, check| check.cost(both.more()))).transpose();
        // Only a charge can fail, and then nothing has been given back yet.
        let corrected = charged.and_then(|charged| match charged {
            Some(answer) if corrections.iter().all(|both| both.actual >= both.charged) => Ok(answer),
            // The whole cost, for what was spent of it has been draining too.
            _ => decide(undo, |both, check| check.cost(both.charged).spent(both.actual)),
        });
        if open && corrected.is_err() {
            receipt.reopen();
        }
        LimitInfo::of(py, Receipt::new(self.owner, undo, Asked::of(&parts)?), corrected?)
    }
}

/// What a check was charged, and what it should have been.
#[derive(Clone, Copy, Default)]
struct Correction {
    charged: u64,
    actual: u64,
}

impl Correction {
    fn more(&self) -> u64 {
        self.actual.saturating_sub(self.charged)
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
