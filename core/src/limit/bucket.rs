//! The leaky bucket as a meter.

use std::time::Duration;

use super::blocking::Blocking;
use super::form::{FACTOR_SCALES, Form, at_least, count};
use super::number::Scope;
use super::parameters::{Choice, parameters};
use super::rules::Rules;
use super::{Builder, Definition, Limit};
use crate::algorithm::{LevelRule, Rule};
use crate::error::LimitError;
use crate::names::named;
use crate::time::wire_millis;

/// Effect of a factor on a [`Bucket`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FactorScales {
    /// The size alone: a trusted actor gets a larger burst at the same rate.
    #[default]
    Size,
    /// The size and the rate at which it drains.
    SizeAndRate,
}

named!(FactorScales, "factorScales", Size = "size", SizeAndRate = "size-and-rate");

impl Choice for FactorScales {}

/// A bucket that holds `size` units and loses `drip_size` of them every `drip_rate` milliseconds.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "type", rename = "bucket", rename_all = "camelCase")]
pub struct Bucket {
    pub(crate) size: f64,
    pub(crate) drip_rate: f64,
    pub(crate) drip_size: f64,
    pub(crate) factor_scales: FactorScales,
    #[serde(flatten)]
    pub(crate) blocking: Blocking,
}

parameters! {
    Bucket {
        /// The units that fit at once.
        size: u64,
        /// The time between drips.
        drip_rate: Duration,
        /// The units that leave with each drip.
        drip_size: u64,
        /// The part that an actor's factor scales.
        factor_scales: FactorScales,
        /// The block after a refusal.
        blocking: Blocking,
    }
}

impl Bucket {
    pub(crate) const fn new(size: f64) -> Self {
        Self { size, drip_rate: 1000.0, drip_size: 1.0, factor_scales: FactorScales::Size, blocking: Blocking::NONE }
    }

    pub(crate) fn compile(&self, scope: Scope<'_>) -> Result<Rule, LimitError> {
        scope.at_least("dripRate", self.drip_rate, 1.0)?;
        self.rule(scope)
    }

    /// A `drip_rate` below 1 ms is rounded up as any other.
    pub(super) fn rule(&self, scope: Scope<'_>) -> Result<Rule, LimitError> {
        let quota = scope.scaled("size", self.size)?;
        let drain = scope.count("dripSize", self.drip_size)?;
        let factor = if self.factor_scales == FactorScales::SizeAndRate { scope.factor } else { 1.0 };
        // Rounded once, after the factor.
        let drip_rate = (self.drip_rate * factor).ceil().max(1.0);
        let rule = LevelRule::new(quota, scope.micros("dripRate", drip_rate)?, drain);
        scope.drains(rule.window, "dripRate", self.drip_rate)?;
        Ok(Rule::Level(rule))
    }
}

impl Definition for Bucket {
    const TYPE: Option<&'static str> = Some("bucket");
    const EXAMPLE: &'static str = r#"{ "key": "login", "type": "bucket", "size": 10, "dripRate": 1000 }"#;

    fn form(form: &mut impl Form) -> Self {
        form.about(
            "A leaky bucket as a meter: up to `size` units at once, then `dripSize` more every `dripRate`.",
            "A full bucket admits `dripSize` units with each drip. An actor's factor scales the size, or with \
             `factorScales` the rate as well.",
        );
        let plain = Self::new(form.required(count("size", "Units that fit at once.")));
        Self {
            drip_rate: form
                .number_or(at_least(1.0, "dripRate", "Time from one drip to the next.").millis(), plain.drip_rate),
            drip_size: form.number_or(count("dripSize", "Units that leave with each drip."), plain.drip_size),
            factor_scales: form.choice("factorScales", FACTOR_SCALES, FactorScales::NAMES),
            blocking: Blocking::form(form),
            ..plain
        }
    }

    fn rules(&self, scope: Scope<'_>) -> Result<Rules, LimitError> {
        self.compile(scope).map(Rules::One)
    }
}

impl Limit {
    /// A leaky bucket as a meter: up to `size` at once, and `drip_size` more every `drip_rate`.
    ///
    /// Source: the meter of <https://en.wikipedia.org/wiki/Leaky_bucket>, with drips instead of a continuous leak.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::{Call, Limit, State};
    ///
    /// // Two attempts at once, then one more every half second.
    /// let login = Limit::bucket("login", 2).drip_rate(Duration::from_millis(500)).build()?;
    /// let (_, state) = login.decide(State::default(), 0, Call::Limit)?;
    /// let (info, state) = login.decide(state, 0, Call::Limit)?;
    /// assert_eq!((info.allowed(), info.remaining), (true, 0));
    /// let (info, _) = login.decide(state, 0, Call::Limit)?;
    /// assert_eq!((info.blocked, info.reset_after()), (true, Duration::from_millis(500)));
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    pub fn bucket(key: impl Into<String>, size: u64) -> Builder<Bucket> {
        Builder { key: key.into(), kind: Bucket::new(size as f64) }
    }
}

impl Builder<Bucket> {
    /// The time between drips; 1 s unless set, at least 1 ms, rounded up to whole milliseconds.
    #[must_use]
    pub fn drip_rate(mut self, every: Duration) -> Self {
        self.kind.drip_rate = wire_millis(every);
        self
    }

    /// The units that leave with each drip; 1 unless set.
    #[must_use]
    pub fn drip_size(mut self, units: u64) -> Self {
        self.kind.drip_size = units as f64;
        self
    }

    /// The part that an actor's factor scales; the size alone unless set.
    #[must_use]
    pub fn factor_scales(mut self, scales: FactorScales) -> Self {
        self.kind.factor_scales = scales;
        self
    }
}
