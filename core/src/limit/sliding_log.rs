//! A log of every instant that was charged.

use std::time::Duration;

use super::number::Scope;
use super::rule::{Log, Rule};
use super::{Builder, Kind};
use crate::error::LimitError;
use crate::time::wire_millis;

/// At most `max` units in any span of a `period`, exactly, and none sooner than `min_interval` after the last.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlidingLog {
    pub(crate) max: f64,
    pub(crate) period: f64,
    pub(crate) min_interval: f64,
    pub(crate) count_blocked: bool,
}

impl SlidingLog {
    pub(crate) fn new(max: u64, period: Duration) -> Self {
        Self { max: max as f64, period: wire_millis(period), min_interval: 0.0, count_blocked: false }
    }

    pub(crate) fn compile(&self, scope: Scope<'_>) -> Result<Rule, LimitError> {
        let max = scope.scaled("max", self.max)?;
        let period = scope.micros("period", scope.period("period", self.period)?)?;
        let min_interval = match scope.at_least("minInterval", self.min_interval, 0.0)? {
            0.0 => 0,
            interval => scope.micros("minInterval", interval)?,
        };
        Ok(Rule::Log(Log { max, period, min_interval, counts_blocked: self.count_blocked }))
    }
}

impl From<SlidingLog> for Kind {
    fn from(log: SlidingLog) -> Self {
        Self::SlidingLog(log)
    }
}

impl Builder<SlidingLog> {
    /// The least time between two calls; none unless set.
    #[must_use]
    pub fn min_interval(mut self, interval: Duration) -> Self {
        self.kind.min_interval = wire_millis(interval);
        self
    }

    /// Whether denied attempts are charged too, so that only a pause helps.
    #[must_use]
    pub fn count_blocked(mut self, counted: bool) -> Self {
        self.kind.count_blocked = counted;
        self
    }
}
