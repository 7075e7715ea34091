//! GCRA, the token bucket: `count` per `period` at an even pace, with bursts.

use std::time::Duration;

use super::blocking::Blocking;
use super::form::{Form, PERIOD, count};
use super::number::Scope;
use super::parameters::parameters;
use super::rules::Rules;
use super::{Builder, Definition, Limit};
use crate::algorithm::{LevelRule, Rule};
use crate::error::LimitError;
use crate::time::{EXACT, Micros, wire_millis};

/// Tokens that come back at an even pace, `count` of them in a `period`, up to `burst` saved up.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "type", rename = "token-bucket", rename_all = "camelCase")]
pub struct TokenBucket {
    pub(crate) count: f64,
    pub(crate) period: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) burst: Option<f64>,
    #[serde(flatten)]
    pub(crate) blocking: Blocking,
}

parameters! {
    TokenBucket {
        /// The tokens that come back in a [`period`](Self::period).
        count: u64,
        /// The time in which [`count`](Self::count) tokens come back.
        period: Duration,
        /// The tokens that can be saved up; `None` is as many as the [`count`](Self::count).
        burst: Option<u64>,
        /// The block after a refusal.
        blocking: Blocking,
    }
}

impl TokenBucket {
    pub(crate) fn compile(&self, scope: Scope<'_>) -> Result<Rule, LimitError> {
        let count = scope.scaled("count", self.count)?;
        let burst = self.burst.map_or(Ok(count), |burst| scope.scaled("burst", burst))?;
        let period = scope.micros("period", scope.period("period", self.period)?)?;
        let Some(rule) = even_pace(count, period, burst) else {
            let problem = "must share more factors with period, or be smaller, for its rate to be kept exactly";
            return Err(LimitError::range(scope.key, "count", problem, count));
        };
        scope.drains(rule.window, "period", self.period)?;
        Ok(Rule::Level(rule))
    }
}

/// The shortest tick in which no rate has to be rounded: `count` per `period`, as units that leave in so many ticks.
fn even_pace(count: u64, period: Micros, burst: u64) -> Option<LevelRule> {
    [1, 1_000, 1_000_000].into_iter().filter(|tick| period.is_multiple_of(*tick)).find_map(|tick| {
        let common = common_divisor(count, period / tick);
        let (units, ticks) = (count / common, period / tick / common);
        let exact = units.checked_mul(ticks).is_some_and(|product| product <= EXACT);
        exact.then(|| LevelRule::evenly(burst, tick, units, ticks))
    })
}

/// Euclid's.
fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Definition for TokenBucket {
    const TYPE: Option<&'static str> = Some("token-bucket");
    const EXAMPLE: &'static str =
        r#"{ "key": "api", "type": "token-bucket", "count": 100, "period": 1000, "burst": 20 }"#;

    fn form(form: &mut impl Form) -> Self {
        form.about(
            "A token bucket, decided as GCRA does: `count` tokens per `period` at an even pace, up to `burst` saved up.",
            "No rate is rounded.",
        );
        Self {
            count: form.required(count("count", "Tokens that come back in a period.")),
            period: form.required(PERIOD),
            burst: form.optional(count("burst", "Tokens that may be saved up; `count` unless given.")),
            blocking: Blocking::form(form),
        }
    }

    fn rules(&self, scope: Scope<'_>) -> Result<Rules, LimitError> {
        self.compile(scope).map(Rules::One)
    }
}

impl Limit {
    /// A token bucket, decided as GCRA does: `count` per `period` at an even pace.
    ///
    /// Source: the generic cell rate algorithm, ITU-T I.371; no rate is rounded, because levels are kept as exact
    /// fractions of a token.
    pub fn token_bucket(key: impl Into<String>, count: u64, period: Duration) -> Builder<TokenBucket> {
        Builder { key: key.into(), kind: TokenBucket::new(count, period) }
    }
}

impl Builder<TokenBucket> {
    /// The most tokens that may be saved up; `count` unless set.
    #[must_use]
    pub fn burst(mut self, tokens: u64) -> Self {
        self.kind.burst = Some(tokens as f64);
        self
    }
}

impl TokenBucket {
    pub(crate) fn new(count: u64, period: Duration) -> Self {
        Self { count: count as f64, period: wire_millis(period), burst: None, blocking: Blocking::NONE }
    }
}
