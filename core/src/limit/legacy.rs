//! Limits as `{ max, duration, minInterval }`, the form that Misskey's family of servers has always used.

use std::time::Duration;

use super::blocking::Blocking;
use super::bucket::{Bucket, FactorScales};
use super::form::{FACTOR_SCALES, Form, at_least};
use super::number::{Scope, round_half_up};
use super::parameters::{Choice, parameters};
use super::rules::Rules;
use super::token_bucket::TokenBucket;
use super::{Builder, Definition, Limit};
use crate::algorithm::Rule;
use crate::error::LimitError;
use crate::names::named;
use crate::time::wire_millis;

/// The translation of a [`Legacy`] limit into limits of today.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Translation {
    /// One bucket, as `SkRateLimiterService` translates. It rounds the rate, and does not enforce `minInterval` beside `max`.
    #[default]
    Bucket,
    /// The meaning of the fields: a token bucket for `max` and `duration`, a bucket of one for `minInterval`, both where both are given.
    Exact,
}

named!(Translation, "translation", Bucket = "bucket", Exact = "exact");

impl Choice for Translation {}

/// At most `max` in a `duration`, or one per `min_interval`, or both; none of them is no limit. In milliseconds.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Legacy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min_interval: Option<f64>,
    pub(crate) factor_scales: FactorScales,
    pub(crate) translation: Translation,
}

parameters! {
    Legacy {
        /// The units in a [`duration`](Self::duration).
        max: Option<u64>,
        /// The span in which [`max`](Self::max) units are admitted.
        duration: Option<Duration>,
        /// The least time between two calls.
        min_interval: Option<Duration>,
        /// The part that an actor's factor scales.
        factor_scales: FactorScales,
        /// The translation of the fields.
        translation: Translation,
    }
}

impl Legacy {
    pub(crate) fn compile(&self, scope: Scope<'_>) -> Result<Rules, LimitError> {
        let min_interval =
            self.min_interval.map(|interval| scope.at_least("minInterval", interval, 0.0)).transpose()?;
        scope.micros("minInterval", min_interval.unwrap_or(0.0))?;
        match (self.max, self.duration) {
            (Some(max), Some(duration)) => {
                let max = scope.at_least("max", max, 1.0)?;
                let duration = scope.at_least("duration", duration, 0.0)?;
                if duration == 0.0 {
                    return Ok(Rules::Unlimited);
                }
                // Refused here by the names that were written, before the limits that they become are checked.
                scope.scaled("max", max)?;
                scope.micros("duration", duration)?;
                match self.translation {
                    Translation::Bucket => self.as_bucket(max, duration, min_interval, scope),
                    Translation::Exact => self.as_said(max, duration, min_interval, scope),
                }
            }
            (Some(max), None) => Err(LimitError::range(scope.key, "duration", "must be given beside max", max)),
            (None, Some(duration)) => {
                Err(LimitError::range(scope.key, "max", "must be given beside duration", duration))
            }
            (None, None) => match min_interval {
                Some(interval) if interval > 0.0 => {
                    let interval = match self.translation {
                        Translation::Bucket => round_half_up(interval).max(1.0),
                        Translation::Exact => interval,
                    };
                    self.spaced(interval, scope).map(Rules::One)
                }
                _ => Ok(Rules::Unlimited),
            },
        }
    }

    /// `SkRateLimiterService`'s own arithmetic, step by step in doubles.
    fn as_bucket(&self, max: f64, duration: f64, interval: Option<f64>, scope: Scope<'_>) -> Result<Rules, LimitError> {
        let first = interval.unwrap_or_else(|| round_half_up(duration / max)).max(1.0);
        let drip_size = round_half_up(max / (duration / first)).max(1.0);
        let drip_rate = round_half_up(duration / (max / drip_size)).max(1.0);
        let bucket =
            Bucket { size: max, drip_rate, drip_size, factor_scales: self.factor_scales, blocking: Blocking::NONE };
        bucket.compile(scope).map(Rules::One)
    }

    fn as_said(&self, max: f64, duration: f64, interval: Option<f64>, scope: Scope<'_>) -> Result<Rules, LimitError> {
        let paced =
            TokenBucket { count: max, period: duration, burst: Some(max), blocking: Blocking::NONE }.compile(scope)?;
        match interval {
            Some(interval) if interval > 0.0 => Ok(Rules::Both(paced, self.spaced(interval, scope)?)),
            _ => Ok(Rules::One(paced)),
        }
    }

    /// One call per interval, which is at least a millisecond.
    fn spaced(&self, interval: f64, scope: Scope<'_>) -> Result<Rule, LimitError> {
        Bucket {
            size: 1.0,
            drip_rate: interval,
            drip_size: 1.0,
            factor_scales: self.factor_scales,
            blocking: Blocking::NONE,
        }
        .rule(scope)
    }
}

impl Definition for Legacy {
    const TYPE: Option<&'static str> = None;
    const EXAMPLE: &'static str = r#"{ "key": "notes/create", "max": 300, "duration": 3600000 }"#;

    fn form(form: &mut impl Form) -> Self {
        form.about(
            "At most `max` units in a `duration`, or one per `minInterval`, or both; none of them is no limit.",
            "The translation `bucket` makes one bucket of the fields, as `SkRateLimiterService` does: it rounds the \
             rate and does not enforce `minInterval` beside `max`. The translation `exact` does what the fields say.",
        );
        form.go_together(["max", "duration"]);
        let duration = "Span in which `max` units are admitted; 0 is no limit.";
        let interval = "Least time between two calls.";
        Self {
            // Without a duration to be counted in, no number is too large: see what compiling says of the bucket.
            max: form.optional(at_least(1.0, "max", "Units in a duration.")),
            duration: form.optional(at_least(0.0, "duration", duration).millis()),
            min_interval: form.optional(at_least(0.0, "minInterval", interval).millis()),
            factor_scales: form.choice("factorScales", FACTOR_SCALES, FactorScales::NAMES),
            translation: form.choice(
                "translation",
                "Meaning of the fields: one bucket with its rate rounded, or exactly what they say.",
                Translation::NAMES,
            ),
        }
    }

    fn rules(&self, scope: Scope<'_>) -> Result<Rules, LimitError> {
        self.compile(scope)
    }
}

impl Limit {
    /// The `{ max, duration, minInterval }` form; without any of them it limits nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::Limit;
    ///
    /// let notes = Limit::legacy("notes/create").max(300).duration(Duration::from_secs(3600)).build()?;
    /// assert_eq!(notes, Limit::from_json(r#"{ "key": "notes/create", "max": 300, "duration": 3600000 }"#)?);
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    pub fn legacy(key: impl Into<String>) -> Builder<Legacy> {
        Builder { key: key.into(), kind: Legacy::default() }
    }
}

impl Builder<Legacy> {
    /// The units in a [`duration`](Self::duration); each needs the other.
    #[must_use]
    pub fn max(mut self, units: u64) -> Self {
        self.kind.max = Some(units as f64);
        self
    }

    /// The span in which [`max`](Self::max) units are admitted.
    #[must_use]
    pub fn duration(mut self, span: Duration) -> Self {
        self.kind.duration = Some(wire_millis(span));
        self
    }

    /// The least time between two calls.
    #[must_use]
    pub fn min_interval(mut self, interval: Duration) -> Self {
        self.kind.min_interval = Some(wire_millis(interval));
        self
    }

    /// The translation of the fields.
    #[must_use]
    pub fn translation(mut self, translation: Translation) -> Self {
        self.kind.translation = translation;
        self
    }

    /// The part that an actor's factor scales; the size alone unless set.
    #[must_use]
    pub fn factor_scales(mut self, scales: FactorScales) -> Self {
        self.kind.factor_scales = scales;
        self
    }
}
