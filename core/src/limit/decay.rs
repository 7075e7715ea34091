//! A count that decays exponentially: an AR(1) process.

use std::time::Duration;

use super::blocking::Blocking;
use super::form::{COUNT_BLOCKED, Form, above, count};
use super::number::Scope;
use super::parameters::parameters;
use super::rules::Rules;
use super::{Builder, Definition, Limit};
use crate::algorithm::{Decaying, Rule, real};
use crate::error::LimitError;
use crate::time::{LONGEST, wire_millis};

/// A count of at most `max` that is divided by `decay_factor` every `resolution`.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "type", rename = "decay", rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the wire form calls it decayFactor, beside an actor's factor")]
pub struct Decay {
    pub(crate) max: f64,
    pub(crate) decay_factor: f64,
    pub(crate) resolution: f64,
    pub(crate) count_blocked: bool,
    #[serde(flatten)]
    pub(crate) blocking: Blocking,
}

parameters! {
    Decay {
        /// The highest count.
        max: u64,
        /// The divisor of the count.
        decay_factor: f64,
        /// The time between two divisions.
        resolution: Duration,
        /// Denied attempts are charged too.
        count_blocked: bool,
        /// The block after a refusal.
        blocking: Blocking,
    }
}

impl Decay {
    pub(crate) fn new(max: u64, decay_factor: f64, resolution: Duration) -> Self {
        Self {
            max: max as f64,
            decay_factor,
            resolution: wire_millis(resolution),
            count_blocked: false,
            blocking: Blocking::NONE,
        }
    }

    pub(crate) fn compile(&self, scope: Scope<'_>) -> Result<Rule, LimitError> {
        let max = scope.scaled("max", self.max)?;
        let factor = scope.at_least("decayFactor", self.decay_factor, 1.0)?;
        if factor <= 1.0 {
            return Err(LimitError::range(scope.key, "decayFactor", "must be above 1", factor));
        }
        let resolution = scope.micros("resolution", scope.period("resolution", self.resolution)?)?;
        // Barely above 1 it takes longer than can be counted; whatever the rounding, this is far from the bound.
        let slots = (real(max).log2() - Decaying::NOTHING.log2()) / factor.log2();
        if slots * real(resolution) > 2.0 * real(LONGEST) {
            let problem = "must be so far above 1 that a full entry drains within 100 years";
            return Err(LimitError::range(scope.key, "decayFactor", problem, self.decay_factor));
        }
        let decay = Decaying::new(max, factor, resolution, self.count_blocked);
        scope.drains(decay.window, "decayFactor", self.decay_factor)?;
        Ok(Rule::Decay(decay))
    }
}

impl Definition for Decay {
    const TYPE: Option<&'static str> = Some("decay");
    const EXAMPLE: &'static str =
        r#"{ "key": "score", "type": "decay", "max": 5, "decayFactor": 2, "resolution": 1000 }"#;

    fn form(form: &mut impl Form) -> Self {
        form.about(
            "A count of at most `max` that is divided by `decayFactor` every `resolution`.",
            "It keeps one number.",
        );
        Self {
            max: form.required(count("max", "Highest count.")),
            decay_factor: form.required(above(1.0, "decayFactor", "Divisor of the count.")),
            resolution: form.required(above(0.0, "resolution", "Time between two divisions.").millis()),
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
    /// A count of at most `max` that is divided by `decay_factor` every `resolution`: an AR(1) process, as an
    /// exponentially weighted sum of what went before.
    pub fn decay(key: impl Into<String>, max: u64, decay_factor: f64, resolution: Duration) -> Builder<Decay> {
        Builder { key: key.into(), kind: Decay::new(max, decay_factor, resolution) }
    }
}

impl Builder<Decay> {
    /// Charges denied attempts too, so that only a pause helps.
    #[must_use]
    pub fn count_blocked(mut self, counted: bool) -> Self {
        self.kind.count_blocked = counted;
        self
    }
}
