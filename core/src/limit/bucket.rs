//! The leaky bucket as a meter.

use std::time::Duration;

use super::number::Scope;
use super::rule::{LevelRule, Rule};
use super::{Builder, Kind};
use crate::error::LimitError;
use crate::time::wire_millis;

/// What a factor scales in a [`Bucket`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FactorScales {
    /// The size alone: a trusted actor gets a larger burst at the same rate.
    #[default]
    Size,
    /// The size and the rate at which it drains.
    SizeAndRate,
}

impl FactorScales {
    pub(crate) const NAMES: [(&'static str, Self); 2] = [("size", Self::Size), ("size-and-rate", Self::SizeAndRate)];
}

/// A bucket that holds `size` units and loses `drip_size` of them every `drip_rate` milliseconds.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bucket {
    pub(crate) size: f64,
    pub(crate) drip_rate: f64,
    pub(crate) drip_size: f64,
    pub(crate) factor_scales: FactorScales,
}

impl Bucket {
    pub(crate) const fn new(size: f64) -> Self {
        Self { size, drip_rate: 1000.0, drip_size: 1.0, factor_scales: FactorScales::Size }
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

impl From<Bucket> for Kind {
    fn from(bucket: Bucket) -> Self {
        Self::Bucket(bucket)
    }
}

impl Builder<Bucket> {
    /// How often the bucket drips; 1 s unless set, at least 1 ms, rounded up to whole milliseconds.
    #[must_use]
    pub fn drip_rate(mut self, every: Duration) -> Self {
        self.kind.drip_rate = wire_millis(every);
        self
    }

    /// How much leaves with each drip; 1 unless set.
    #[must_use]
    pub fn drip_size(mut self, units: u64) -> Self {
        self.kind.drip_size = units as f64;
        self
    }

    /// What an actor's factor scales; the size alone unless set.
    #[must_use]
    pub fn factor_scales(mut self, scales: FactorScales) -> Self {
        self.kind.factor_scales = scales;
        self
    }
}
