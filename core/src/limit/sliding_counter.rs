//! Two windows, the older one weighted by what is left of it.

use std::time::Duration;

use super::blocking::Blocking;
use super::form::{Form, PERIOD, count};
use super::number::Scope;
use super::parameters::parameters;
use super::rules::Rules;
use super::{Builder, Definition, Limit};
use crate::algorithm::{Counter, Rule};
use crate::error::LimitError;
use crate::time::{EXACT, wire_millis};

/// About `max` units in a `period`, from the counts of two windows.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "type", rename = "sliding-counter", rename_all = "camelCase")]
pub struct SlidingCounter {
    pub(crate) max: f64,
    pub(crate) period: f64,
    #[serde(flatten)]
    pub(crate) blocking: Blocking,
}

parameters! {
    SlidingCounter {
        /// The units that a [`period`](Self::period) admits, about.
        max: u64,
        /// The length of a window.
        period: Duration,
        /// The block after a refusal.
        blocking: Blocking,
    }
}

impl SlidingCounter {
    pub(crate) fn new(max: u64, period: Duration) -> Self {
        Self { max: max as f64, period: wire_millis(period), blocking: Blocking::NONE }
    }

    pub(crate) fn compile(&self, scope: Scope<'_>) -> Result<Rule, LimitError> {
        let max = scope.scaled("max", self.max)?;
        let period = scope.micros("period", scope.period("period", self.period)?)?;
        scope.drains(period.saturating_mul(2), "period", self.period)?;
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

impl Definition for SlidingCounter {
    const TYPE: Option<&'static str> = Some("sliding-counter");
    const EXAMPLE: &'static str = r#"{ "key": "web", "type": "sliding-counter", "max": 100, "period": 60000 }"#;

    fn form(form: &mut impl Form) -> Self {
        form.about(
            "About `max` units in a `period`, from the counts of two windows of which the older one fades out.",
            "It keeps two numbers. It is an approximation, not a bound: it takes the older window's calls to have been \
             spread evenly.",
        );
        Self {
            max: form.required(count("max", "Units in a period, about.")),
            period: form.required(PERIOD),
            blocking: Blocking::form(form),
        }
    }

    fn rules(&self, scope: Scope<'_>) -> Result<Rules, LimitError> {
        self.compile(scope).map(Rules::One)
    }
}

impl Limit {
    /// About `max` in a `period`: this window's count, and the last one's weighted by what is left of it.
    ///
    /// Two counts whatever `max` is, but an approximation: it supposes that the last window's calls were spread evenly.
    /// Source: <https://blog.cloudflare.com/counting-things-a-lot-of-different-things/>.
    pub fn sliding_counter(key: impl Into<String>, max: u64, period: Duration) -> Builder<SlidingCounter> {
        Builder { key: key.into(), kind: SlidingCounter::new(max, period) }
    }
}
