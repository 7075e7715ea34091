//! A log of every instant that was charged.

use std::time::Duration;

use super::blocking::Blocking;
use super::form::{COUNT_BLOCKED, Form, PERIOD, at_least, count};
use super::number::Scope;
use super::parameters::parameters;
use super::rules::Rules;
use super::{Builder, Definition, Limit};
use crate::algorithm::{Log, Rule};
use crate::error::LimitError;
use crate::time::wire_millis;

/// At most `max` units in any span of a `period`, exactly, and none sooner than `min_interval` after the last.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "type", rename = "sliding-log", rename_all = "camelCase")]
pub struct SlidingLog {
    pub(crate) max: f64,
    pub(crate) period: f64,
    pub(crate) min_interval: f64,
    pub(crate) count_blocked: bool,
    #[serde(flatten)]
    pub(crate) blocking: Blocking,
}

parameters! {
    SlidingLog {
        /// The units that any span of a [`period`](Self::period) admits.
        max: u64,
        /// The span in which units are counted.
        period: Duration,
        /// The least time between two calls; zero is none.
        min_interval: Duration,
        /// Denied attempts are charged too.
        count_blocked: bool,
        /// The block after a refusal.
        blocking: Blocking,
    }
}

impl SlidingLog {
    pub(crate) fn new(max: u64, period: Duration) -> Self {
        Self {
            max: max as f64,
            period: wire_millis(period),
            min_interval: 0.0,
            count_blocked: false,
            blocking: Blocking::NONE,
        }
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

impl Definition for SlidingLog {
    const TYPE: Option<&'static str> = Some("sliding-log");
    const EXAMPLE: &'static str =
        r#"{ "key": "otp", "type": "sliding-log", "max": 5, "period": 60000, "minInterval": 1000 }"#;

    fn form(form: &mut impl Form) -> Self {
        form.about(
            "At most `max` units in any span of a `period`, exactly, and none sooner than `minInterval` after the last.",
            "It keeps an instant for each of up to `max` units.",
        );
        Self {
            max: form.required(count("max", "Units in any span of a period.")),
            period: form.required(PERIOD),
            min_interval: form.number_or(at_least(0.0, "minInterval", "Least time between two calls.").millis(), 0.0),
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
    /// At most `max` in any span of a `period`, exactly, because the instants themselves are kept: up to `max` of them.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::Limit;
    ///
    /// // Five codes an hour, a minute apart, and attempts that are denied count too.
    /// let codes = Limit::sliding_log("codes", 5, Duration::from_secs(3600));
    /// let codes = codes.min_interval(Duration::from_secs(60)).count_blocked(true).build()?;
    /// assert!(codes.counts_blocked());
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    pub fn sliding_log(key: impl Into<String>, max: u64, period: Duration) -> Builder<SlidingLog> {
        Builder { key: key.into(), kind: SlidingLog::new(max, period) }
    }
}

impl Builder<SlidingLog> {
    /// The least time between two calls; none unless set.
    #[must_use]
    pub fn min_interval(mut self, interval: Duration) -> Self {
        self.kind.min_interval = wire_millis(interval);
        self
    }

    /// Charges denied attempts too, so that only a pause helps.
    #[must_use]
    pub fn count_blocked(mut self, counted: bool) -> Self {
        self.kind.count_blocked = counted;
        self
    }
}
