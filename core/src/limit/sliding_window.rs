//! A sliding window that counts in slots.

use std::time::Duration;

use super::blocking::Blocking;
use super::form::{COUNT_BLOCKED, Form, PERIOD, above, count};
use super::number::Scope;
use super::parameters::parameters;
use super::rules::Rules;
use super::{Builder, Definition, Limit};
use crate::algorithm::{Rule, Slots};
use crate::error::LimitError;
use crate::time::wire_millis;

/// At most `max` units in a `period`, counted in slots of a `resolution`.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "type", rename = "sliding-window", rename_all = "camelCase")]
pub struct SlidingWindow {
    pub(crate) max: f64,
    pub(crate) period: f64,
    pub(crate) resolution: f64,
    pub(crate) count_blocked: bool,
    #[serde(flatten)]
    pub(crate) blocking: Blocking,
}

parameters! {
    SlidingWindow {
        /// The units that a [`period`](Self::period) admits.
        max: u64,
        /// The span in which units are counted.
        period: Duration,
        /// The length of a slot.
        resolution: Duration,
        /// Denied attempts are charged too.
        count_blocked: bool,
        /// The block after a refusal.
        blocking: Blocking,
    }
}

impl SlidingWindow {
    pub(crate) fn new(max: u64, period: Duration, resolution: Duration) -> Self {
        Self {
            max: max as f64,
            period: wire_millis(period),
            resolution: wire_millis(resolution),
            count_blocked: false,
            blocking: Blocking::NONE,
        }
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

impl Definition for SlidingWindow {
    const TYPE: Option<&'static str> = Some("sliding-window");
    const EXAMPLE: &'static str =
        r#"{ "key": "sms", "type": "sliding-window", "max": 5, "period": 3600000, "resolution": 600000 }"#;

    fn form(form: &mut impl Form) -> Self {
        form.about(
            "At most `max` units in a `period`, counted in slots of a `resolution`.",
            "No span of `period` less `resolution` admits more than `max`. It keeps a count for each slot in use.",
        );
        Self {
            max: form.required(count("max", "Units in a period.")),
            period: form.required(PERIOD),
            resolution: form.required(above(0.0, "resolution", "Length of a slot, at most the period.").millis()),
            count_blocked: form.flag("countBlocked", COUNT_BLOCKED),
            blocking: Blocking::form(form),
        }
    }

    fn rules(&self, scope: Scope<'_>) -> Result<Rules, LimitError> {
        self.compile(scope).map(Rules::One)
    }

    fn counts_blocked(&self) -> bool {
        self.count_blocked
    }
}

impl Limit {
    /// At most `max` in a `period`, counted in slots of `resolution`: a slot counts until its start is a `period` ago.
    ///
    /// No span of `period - resolution` ever holds more than `max`. Keeps a count per slot in use.
    pub fn sliding_window(
        key: impl Into<String>,
        max: u64,
        period: Duration,
        resolution: Duration,
    ) -> Builder<SlidingWindow> {
        Builder { key: key.into(), kind: SlidingWindow::new(max, period, resolution) }
    }
}

impl Builder<SlidingWindow> {
    /// Charges denied attempts too, so that only a pause helps.
    #[must_use]
    pub fn count_blocked(mut self, counted: bool) -> Self {
        self.kind.count_blocked = counted;
        self
    }
}
