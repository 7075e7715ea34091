//! Units that are held for as long as something lasts: at most so many at once.

use std::time::Duration;

use super::blocking::Blocking;
use super::form::{Form, at_least, count_up_to};
use super::number::Scope;
use super::parameters::parameters;
use super::rules::Rules;
use super::{Builder, Definition, Limit};
use crate::algorithm::{Concurrent, Rule};
use crate::error::LimitError;
use crate::time::wire_millis;

/// The most units at once: each of them is kept by itself.
const MOST: u64 = 10_000;

/// At most `max` units at once, each held until it is released or its `lease` is over.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "type", rename = "concurrency", rename_all = "camelCase")]
pub struct Concurrency {
    pub(crate) max: f64,
    pub(crate) lease: f64,
    #[serde(flatten)]
    pub(crate) blocking: Blocking,
}

parameters! {
    Concurrency {
        /// The units that are held at once.
        max: u64,
        /// The time after which a unit that nobody renews is free again.
        lease: Duration,
        /// The block after a refusal.
        blocking: Blocking,
    }
}

impl Concurrency {
    pub(crate) fn compile(&self, scope: Scope<'_>) -> Result<Rule, LimitError> {
        let max = scope.scaled_up_to("max", self.max, MOST)?;
        let lease = scope.micros("lease", scope.at_least("lease", self.lease, 1.0)?)?;
        Ok(Rule::Held(Concurrent { max, lease }))
    }
}

impl Definition for Concurrency {
    const TYPE: Option<&'static str> = Some("concurrency");
    const EXAMPLE: &'static str = r#"{ "key": "exports", "type": "concurrency", "max": 3, "lease": 60000 }"#;

    fn form(form: &mut impl Form) -> Self {
        form.about(
            "At most `max` units at once, each held until it is released or its `lease` is over.",
            "Who is admitted holds the units of the call, renews them while it works, and releases them. It keeps an \
             instant for each of them.",
        );
        Self {
            max: form.required(count_up_to(MOST, "max", "Units that are held at once.")),
            lease: form
                .required(at_least(1.0, "lease", "Time after which a unit that nobody renews is free again.").millis()),
            blocking: Blocking::form(form),
        }
    }

    fn rules(&self, scope: Scope<'_>) -> Result<Rules, LimitError> {
        self.compile(scope).map(Rules::One)
    }
}

impl Limit {
    /// At most `max` units at once, each held until it is [released](crate::Receipt::release) or its `lease` is over: so
    /// a process that dies gives back what it held.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::{Call, Check, Limit, Limiter, Memory};
    ///
    /// let exports = Limit::concurrency("exports", 1, Duration::from_secs(60)).build()?;
    /// let limiter = Limiter::new(Memory::new());
    /// let checks = [Check::new(&exports, "ada")];
    /// let info = limiter.decide_sync(&checks, Call::Limit)?;
    /// assert!(limiter.limit_sync(&exports, "ada")?.blocked);
    ///
    /// limiter.receipt(&checks, Call::Limit, &info).release_sync()?;
    /// assert!(limiter.limit_sync(&exports, "ada")?.allowed());
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    pub fn concurrency(key: impl Into<String>, max: u64, lease: Duration) -> Builder<Concurrency> {
        Builder {
            key: key.into(),
            kind: Concurrency { max: max as f64, lease: wire_millis(lease), blocking: Blocking::NONE },
        }
    }
}
