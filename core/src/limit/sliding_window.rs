//! A sliding window that counts in slots.

use std::time::Duration;

use super::number::Scope;
use super::rule::{Rule, Slots};
use super::{Builder, Kind};
use crate::error::LimitError;
use crate::time::wire_millis;

/// At most `max` units in a `period`, counted in slots of a `resolution`.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlidingWindow {
    pub(crate) max: f64,
    pub(crate) period: f64,
    pub(crate) resolution: f64,
    pub(crate) count_blocked: bool,
}

impl SlidingWindow {
    pub(crate) fn new(max: u64, period: Duration, resolution: Duration) -> Self {
        Self { max: max as f64, period: wire_millis(period), resolution: wire_millis(resolution), count_blocked: false }
    }

    pub(crate) fn compile(&self, scope: Scope<'_>) -> Result<Rule, LimitError> {
        let max = scope.scaled("max", self.max)?;
        let period = scope.micros("period", scope.period("period", self.period)?)?;
        let resolution = scope.micros("resolution", scope.period("resolution", self.resolution)?)?;
        if resolution > period {
            return Err(LimitError::range(scope.key, "resolution", "must be at most the period", self.resolution));
        }
        Ok(Rule::Slots(Slots::new(max, period, resolution, self.count_blocked)))
    }
}

impl From<SlidingWindow> for Kind {
    fn from(window: SlidingWindow) -> Self {
        Self::SlidingWindow(window)
    }
}

impl Builder<SlidingWindow> {
    /// Whether denied attempts are charged too, so that only a pause helps.
    #[must_use]
    pub fn count_blocked(mut self, counted: bool) -> Self {
        self.kind.count_blocked = counted;
        self
    }
}
