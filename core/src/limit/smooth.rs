//! Permits at an even pace, saved up while idle, dearer after a long pause.

use std::time::Duration;

use super::blocking::Blocking;
use super::form::{Form, above, at_least};
use super::number::{LARGEST_COUNT, Scope};
use super::parameters::parameters;
use super::rules::Rules;
use super::{Builder, Definition, Limit};
use crate::algorithm::{Pacing, Rule, whole};
use crate::error::LimitError;
use crate::time::wire_millis;

/// `rate` permits per second, paced; with a `warmup`, a limiter that was idle starts slowly.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "type", rename = "smooth", rename_all = "camelCase")]
pub struct Smooth {
    pub(crate) rate: f64,
    pub(crate) max_burst: f64,
    pub(crate) warmup: f64,
    pub(crate) cold_factor: f64,
    #[serde(flatten)]
    pub(crate) blocking: Blocking,
}

parameters! {
    Smooth {
        /// The permits per second.
        rate: f64,
        /// The idle time for which permits are saved up, without a warm-up.
        max_burst: Duration,
        /// The time that a cold limiter takes to reach its rate; zero is none.
        warmup: Duration,
        /// The factor by which a cold limiter starts slower than its rate.
        cold_factor: f64,
        /// The block after a refusal.
        blocking: Blocking,
    }
}

impl Smooth {
    pub(crate) const fn new(rate: f64) -> Self {
        Self { rate, max_burst: 1000.0, warmup: 0.0, cold_factor: 3.0, blocking: Blocking::NONE }
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

impl Definition for Smooth {
    const TYPE: Option<&'static str> = Some("smooth");
    const EXAMPLE: &'static str = r#"{ "key": "mailer", "type": "smooth", "rate": 5, "warmup": 3000 }"#;

    fn form(form: &mut impl Form) -> Self {
        form.about(
            "`rate` permits per second at an even pace; unused time is saved up, at most `maxBurst` of it.",
            "A call is admitted at once, and the next one waits for what it cost. With a `warmup`, a limiter that was \
             idle starts `coldFactor` times as slowly and takes that long to reach its rate.",
        );
        let plain = Self::new(form.required(above(0.0, "rate", "Permits per second.")));
        let burst = "Idle time for which permits are saved up, where there is no warm-up.";
        Self {
            max_burst: form.number_or(at_least(0.0, "maxBurst", burst).millis(), plain.max_burst),
            warmup: form
                .number_or(at_least(0.0, "warmup", "Time to reach the rate after a pause.").millis(), plain.warmup),
            cold_factor: form.number_or(
                at_least(1.0, "coldFactor", "Price of a permit after a long pause, in usual permits."),
                plain.cold_factor,
            ),
            blocking: Blocking::form(form),
            ..plain
        }
    }

    fn rules(&self, scope: Scope<'_>) -> Result<Rules, LimitError> {
        self.compile(scope).map(Rules::One)
    }
}

impl Limit {
    /// `rate` permits per second at an even pace; a call is admitted at once and the next one waits for what it cost.
    ///
    /// Source: the arithmetic of Guava's `RateLimiter`, `SmoothBursty` without a warm-up and `SmoothWarmingUp` with one.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::Limit;
    ///
    /// let mailer = Limit::smooth("mailer", 5.0).warmup(Duration::from_secs(3)).build()?;
    /// assert_eq!(mailer, Limit::from_json(r#"{ "key": "mailer", "type": "smooth", "rate": 5, "warmup": 3000 }"#)?);
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    pub fn smooth(key: impl Into<String>, rate: f64) -> Builder<Smooth> {
        Builder { key: key.into(), kind: Smooth::new(rate) }
    }
}

impl Builder<Smooth> {
    /// The time for which an idle limiter saves permits up, without a warm-up; 1 s unless set.
    #[must_use]
    pub fn max_burst(mut self, span: Duration) -> Self {
        self.kind.max_burst = wire_millis(span);
        self
    }

    /// The time that a cold limiter takes to reach its rate; none unless set.
    #[must_use]
    pub fn warmup(mut self, span: Duration) -> Self {
        self.kind.warmup = wire_millis(span);
        self
    }

    /// The factor by which a cold limiter starts slower than its rate; 3 unless set.
    #[must_use]
    pub fn cold_factor(mut self, factor: f64) -> Self {
        self.kind.cold_factor = factor;
        self
    }
}
