//! Two windows, the older one weighted by what is left of it.

use std::time::Duration;

use super::Kind;
use super::number::Scope;
use super::rule::{Counter, Rule};
use crate::error::LimitError;
use crate::time::{EXACT, wire_millis};

/// About `max` units in a `period`, from the counts of two windows.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlidingCounter {
    pub(crate) max: f64,
    pub(crate) period: f64,
}

impl SlidingCounter {
    pub(crate) fn new(max: u64, period: Duration) -> Self {
        Self { max: max as f64, period: wire_millis(period) }
    }

    pub(crate) fn compile(&self, scope: Scope<'_>) -> Result<Rule, LimitError> {
        let max = scope.scaled("max", self.max)?;
        let period = scope.micros("period", scope.period("period", self.period)?)?;
        let exact = |tick: u64| {
            let ticks = period / tick;
            period.is_multiple_of(tick) && 2 * u128::from(max) * u128::from(ticks) <= u128::from(EXACT)
        };
        let Some(tick) = [1, 1_000, 1_000_000].into_iter().find(|tick| exact(*tick)) else {
            let problem = "must be smaller, or period shorter, for the weights to be kept exactly";
            return Err(LimitError::range(scope.key, "max", problem, max));
        };
        Ok(Rule::Counter(Counter::new(max, period, tick)))
    }
}

impl From<SlidingCounter> for Kind {
    fn from(counter: SlidingCounter) -> Self {
        Self::SlidingCounter(counter)
    }
}
