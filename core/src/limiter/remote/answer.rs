//! The answer of a shared store in words, and the fallback's where it has none.

use super::pending::{Decided, PendingCall};
use crate::clock;
use crate::error::Error;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::Rule;
use crate::store::memory::{Memory, Moment};
use crate::store::redis::Answer;
use crate::store::redis::{Decision, Reply};
use crate::store::remote::OnError;

impl PendingCall {
    /// Puts into words what came of the decision.
    pub(in crate::limiter) fn word(&self, decision: &Decision, answer: Answer) -> Result<LimitInfo, Error> {
        let here = self.shared.here();
        if self.call.gives_back() {
            self.entries.iter().for_each(|entry| here.denials.forget(*entry));
        }
        let failure = match answer {
            Ok(Reply::Decided { infos, corrupt, reset, .. }) => {
                let heard = clock::now();
                here.stats.took(heard.saturating_sub(self.started));
                here.stats.repaired(corrupt);
                here.reports.decided(heard);
                let info = self.merge(infos);
                if let Some(deny_key) = self.deny_key.filter(|_| info.blocked) {
                    here.denials.keep(deny_key, &info, heard, reset, self.since);
                }
                here.stats.answered(info.blocked);
                return Ok(info);
            }
            Ok(Reply::Impossible(part, why)) => {
                here.stats.failed();
                return Err(self.refusal(part, why, &decision.costs()).into());
            }
            Ok(Reply::Late { .. }) => Failure::Timeout,
            Err(failure) => failure,
        };
        here.degraded(failure);
        let answer = self.without_the_store(&here.fallback, decision, failure);
        here.stats.came_to(&answer);
        answer
    }

    fn without_the_store(&self, fallback: &Memory, decision: &Decision, failure: Failure) -> Result<LimitInfo, Error> {
        let of_each = |words: fn(&Rule) -> LimitInfo| {
            Ok(self.merge(decision.parts.iter().map(|part| words(&part.rule)).collect()).into_degraded())
        };
        match self.shared.settings.on_error {
            OnError::Raise => Err(self.shared.here().reports.error(failure).into()),
            OnError::Allow => of_each(Rule::allowed),
            OnError::Deny => of_each(Rule::denied),
            OnError::Local => self.decide_here(fallback, &decision.outside_the_store()),
        }
    }

    /// Decides in this process's memory.
    pub(in crate::limiter) fn decide_here(&self, fallback: &Memory, decision: &Decision) -> Decided {
        let actor_of = |part: usize| self.actors.get(part).copied().unwrap_or(Fingerprint(0));
        let now = Moment::new(decision.now);
        let infos = fallback.decide_several(&self.entries, &decision.parts, actor_of, now, self.call);
        let infos = infos.map_err(|(part, why)| self.refusal(part, why, &decision.costs()))?;
        Ok(self.merge(infos.into_iter().collect()).into_degraded())
    }
}
