//! Definitions of one type and period, and the sizes at which they agree with every answer.

use serde::Serialize;

use super::answers::Answers;
use crate::check::Check;
use crate::command::output::Failure;
use crate::decision::Call;
use crate::limit::Limit;
use crate::limiter::Limiter;
use crate::store::memory::Memory;
use crate::time::Micros;

/// Types that a count and a period define.
pub(super) const FAMILIES: [&str; 5] =
    ["token-bucket", "fixed-window", "sliding-window", "sliding-counter", "sliding-log"];

/// Every size from one to another agrees.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Fitted {
    #[serde(rename = "type")]
    pub(super) family: &'static str,
    pub(super) period: String,
    pub(super) from: u64,
    /// None where no refusal bounds it.
    pub(super) to: Option<u64>,
}

impl Fitted {
    /// The definition of the least size.
    pub(super) fn limit(&self) -> Result<Limit, Failure> {
        limit(self.family, &self.period, self.from)
    }

    /// The sizes of this type and period that agree with every answer.
    pub(super) fn of(family: &'static str, period: &str, answers: &Answers) -> Result<Option<Self>, Failure> {
        // At the number of all that was accepted nothing is too small.
        let (mut below, mut from) = (0, answers.accepted().max(1));
        while from - below > 1 {
            let middle = below + (from - below) / 2;
            if verdict(&limit(family, period, middle)?, answers)?.0 { below = middle } else { from = middle }
        }
        let (too_small, too_large) = verdict(&limit(family, period, from)?, answers)?;
        if too_small || too_large {
            return Ok(None);
        }
        let fitted = |to| Ok(Some(Self { family, period: period.to_owned(), from, to }));
        if answers.refused() == 0 {
            return fitted(None);
        }
        let (mut to, mut above) = (from, answers.accepted() + 1);
        while above - to > 1 {
            let middle = to + (above - to) / 2;
            if verdict(&limit(family, period, middle)?, answers)?.1 { above = middle } else { to = middle }
        }
        fitted(Some(to))
    }
}

fn limit(family: &str, period: &str, size: u64) -> Result<Limit, Failure> {
    let text = format!("{size}/{period} {family}");
    Limit::parse(text.as_str(), &text).map_err(|error| Failure::Told(error.to_string()))
}

/// The limit denies a call that was accepted, so that it is too small; it admits one that was refused, so that it is too
/// large. It is charged with what was accepted, whatever it would have said.
fn verdict(limit: &Limit, answers: &Answers) -> Result<(bool, bool), Failure> {
    let limiter = Limiter::new(Memory::with_max_entries(1000));
    let decide = |call: Call, at: Micros| {
        let info = limiter.decide_sync_at(&[Check::new(limit, "client")], call, at);
        info.map_err(|error| Failure::Told(error.to_string()))
    };
    let (mut too_small, mut too_large) = (false, false);
    for (at, accepted) in &answers.calls {
        let blocked = decide(Call::Peek, *at)?.blocked;
        too_small |= *accepted && blocked;
        too_large |= !*accepted && !blocked;
        if *accepted {
            decide(Call::Charge, *at)?;
        }
    }
    Ok((too_small, too_large))
}
