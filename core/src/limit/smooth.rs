//! Permits at an even pace, saved up while idle, dearer after a long pause.

use std::time::Duration;

use super::number::{LARGEST_COUNT, Scope};
use super::rule::{Rule, Smooth as Pacing, whole};
use super::{Builder, Kind};
use crate::error::LimitError;
use crate::time::wire_millis;

/// `rate` permits per second, paced; with a `warmup`, a limiter that was idle starts slowly.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Smooth {
    pub(crate) rate: f64,
    pub(crate) max_burst: f64,
    pub(crate) warmup: f64,
    pub(crate) cold_factor: f64,
}

impl Smooth {
    pub(crate) const fn new(rate: f64) -> Self {
        Self { rate, max_burst: 1000.0, warmup: 0.0, cold_factor: 3.0 }
    }

    pub(crate) fn compile(&self, scope: Scope<'_>) -> Result<Rule, LimitError> {
        let rate = scope.at_least("rate", self.rate, 0.0)?;
        let max_burst = scope.at_least("maxBurst", self.max_burst, 0.0)?;
        let cold_factor = scope.at_least("coldFactor", self.cold_factor, 1.0)?;
        let warmup = match scope.at_least("warmup", self.warmup, 0.0)? {
            0.0 => 0,
            warmup => scope.micros("warmup", warmup)?,
        };
        if rate == 0.0 {
            return Err(LimitError::range(scope.key, "rate", "must be above 0", rate));
        }
        let smooth = Pacing::new(rate / scope.factor, max_burst, warmup as f64, cold_factor);
        if smooth.max_permits > LARGEST_COUNT as f64 {
            let problem = format!("must let at most {LARGEST_COUNT} permits be saved up");
            return Err(LimitError::range(scope.key, "rate", problem, self.rate));
        }
        // A permit alone must come within the time that a full entry may take.
        scope.drains(smooth.window.max(whole(smooth.stable)), "rate", self.rate)?;
        Ok(Rule::Smooth(smooth))
    }
}

impl From<Smooth> for Kind {
    fn from(smooth: Smooth) -> Self {
        Self::Smooth(smooth)
    }
}

impl Builder<Smooth> {
    /// How long an idle limiter saves permits up, without a warm-up; 1 s unless set.
    #[must_use]
    pub fn max_burst(mut self, span: Duration) -> Self {
        self.kind.max_burst = wire_millis(span);
        self
    }

    /// How long it takes a cold limiter to reach its rate; none unless set.
    #[must_use]
    pub fn warmup(mut self, span: Duration) -> Self {
        self.kind.warmup = wire_millis(span);
        self
    }

    /// How much slower than its rate a cold limiter starts; 3 times unless set.
    #[must_use]
    pub fn cold_factor(mut self, factor: f64) -> Self {
        self.kind.cold_factor = factor;
        self
    }
}
