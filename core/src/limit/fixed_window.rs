//! Fixed windows: a count that starts anew.

use std::time::Duration;

use super::blocking::Blocking;
use super::form::{Form, PERIOD, count};
use super::number::Scope;
use super::parameters::{Choice, parameters};
use super::rules::Rules;
use super::{Builder, Definition, Limit};
use crate::algorithm::{LevelRule, Rule};
use crate::error::LimitError;
use crate::names::named;
use crate::time::wire_millis;

/// The instants at which the windows of a [`FixedWindow`] begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Anchor {
    /// At multiples of the period since the Unix epoch: the same for all actors.
    #[default]
    Epoch,
    /// At an actor's first request.
    FirstRequest,
}

named!(Anchor, "anchor", Epoch = "epoch", FirstRequest = "first-request");

impl Choice for Anchor {}

/// At most `max` units in each window of a `period`.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "type", rename = "fixed-window", rename_all = "camelCase")]
pub struct FixedWindow {
    pub(crate) max: f64,
    pub(crate) period: f64,
    pub(crate) anchor: Anchor,
    #[serde(flatten)]
    pub(crate) blocking: Blocking,
}

parameters! {
    FixedWindow {
        /// The units that each window admits.
        max: u64,
        /// The length of a window.
        period: Duration,
        /// The instants at which the windows begin.
        anchor: Anchor,
        /// The block after a refusal.
        blocking: Blocking,
    }
}

impl FixedWindow {
    pub(crate) fn new(max: u64, period: Duration) -> Self {
        Self { max: max as f64, period: wire_millis(period), anchor: Anchor::Epoch, blocking: Blocking::NONE }
    }

    pub(crate) fn compile(&self, scope: Scope<'_>) -> Result<Rule, LimitError> {
        let max = scope.scaled("max", self.max)?;
        let period = scope.micros("period", scope.period("period", self.period)?)?;
        Ok(Rule::Level(LevelRule { aligned: self.anchor == Anchor::Epoch, ..LevelRule::new(max, period, max) }))
    }
}

impl Definition for FixedWindow {
    const TYPE: Option<&'static str> = Some("fixed-window");
    const EXAMPLE: &'static str = r#"{ "key": "daily", "type": "fixed-window", "max": 1000, "period": 86400000 }"#;

    fn form(form: &mut impl Form) -> Self {
        form.about(
            "At most `max` units in each window of a `period`.",
            "Where two windows meet, up to twice `max` may pass at once.",
        );
        Self {
            max: form.required(count("max", "Units in each window.")),
            period: form.required(PERIOD),
            anchor: form.choice(
                "anchor",
                "The start of windows: at multiples of the period since the Unix epoch, or at an actor's first request.",
                Anchor::NAMES,
            ),
            blocking: Blocking::form(form),
        }
    }

    fn rules(&self, scope: Scope<'_>) -> Result<Rules, LimitError> {
        self.compile(scope).map(Rules::One)
    }
}

impl Limit {
    /// At most `max` in each window of a `period`.
    ///
    /// Where two windows meet, up to twice `max` may pass at once; the other types do not allow that.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::Limit;
    /// use tidegate::limits::Anchor;
    ///
    /// let day = Duration::from_secs(86_400);
    /// let daily = Limit::fixed_window("daily", 1000, day).anchor(Anchor::FirstRequest).build()?;
    /// assert_eq!(daily.key(), "daily");
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    pub fn fixed_window(key: impl Into<String>, max: u64, period: Duration) -> Builder<FixedWindow> {
        Builder { key: key.into(), kind: FixedWindow::new(max, period) }
    }
}

impl Builder<FixedWindow> {
    /// The instants at which the windows begin; multiples of the period unless set.
    #[must_use]
    pub fn anchor(mut self, anchor: Anchor) -> Self {
        self.kind.anchor = anchor;
        self
    }
}
