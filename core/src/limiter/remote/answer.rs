//! The answer to a call from the reply of a remote store, or from the fallback where there is none.

use super::pending::{Decided, PendingCall};
use crate::algorithm::Rule;
use crate::clock;
use crate::decision::Verb;
use crate::error::Error;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::store::memory::{Memory, Moment};
use crate::store::remote::{Answer, OnError, Part, Reply, Request};

impl PendingCall {
    /// Puts into words what came of the decision.
    pub(super) fn to_info(&self, request: &Request, answer: Answer) -> Result<LimitInfo, Error> {
        let state = self.store.state();
        if self.call.gives_back() {
            self.entries.iter().for_each(|entry| state.forget_denials(*entry));
        }
        let heard = clock::now();
        let failure = match answer {
            Ok(Reply::Decided { infos, corrupt, reset, .. }) => {
                state.decided(self.started, heard);
                state.stats.repaired(corrupt);
                let info = self.merge(&infos);
                if self.call == Verb::Charge || !info.blocked && self.call != Verb::Peek {
                    self.entries.iter().for_each(|entry| state.denials.outdate(*entry));
                } else if let Some(deny_key) = self.deny_key.filter(|_| info.blocked) {
                    // A denial while it is open closes a block, and is another one afterwards. Rounded down.
                    let block = infos.get(1).filter(|_| request.parts.iter().any(|part| part.block().is_some()));
                    let holds = block.map_or(reset, |block| block.reset_ms.saturating_sub(1).saturating_mul(1000));
                    state.denials.keep(deny_key, &info, heard, (reset, holds), self.since);
                }
                state.stats.answered(info.blocked && !self.call.gives_back());
                return Ok(info);
            }
            Ok(Reply::Impossible(part, why)) => {
                state.stats.failed();
                return Err(self.refusal(part, why, &request.costs()).into());
            }
            Ok(Reply::Late { .. }) => Failure::Timeout,
            Err(failure) => failure,
        };
        state.degraded(failure, heard);
        let answer = self.without_the_store(&state.fallback, request, failure);
        state.stats.came_to(&answer, self.call.gives_back());
        answer
    }

    fn without_the_store(&self, fallback: &Memory, request: &Request, failure: Failure) -> Result<LimitInfo, Error> {
        let of_each = |words: fn(&Rule) -> LimitInfo| {
            let of = |part: &Part| words(&part.rule).granting(self.call.grants(part.cost));
            Ok(self.merge(&request.parts.iter().map(of).collect::<Vec<_>>()).into_degraded())
        };
        match self.store.settings.on_error {
            OnError::Raise => Err(self.store.state().reports.error(failure).into()),
            OnError::Allow => of_each(Rule::allowed),
            OnError::Deny => of_each(Rule::denied),
            OnError::Local => self.decide_here(fallback, &request.outside_the_store()),
        }
    }

    /// Renews units that were taken without the store: where all calls are allowed then, nothing holds them.
    pub(super) fn renewed_without_the_store(&self, fallback: &Memory, request: &Request) -> Decided {
        match self.store.settings.on_error {
            OnError::Allow => {
                let of = |part: &Part| part.rule.allowed().granting(part.cost);
                Ok(self.merge(&request.parts.iter().map(of).collect::<Vec<_>>()).into_degraded())
            }
            _ => self.decide_here(fallback, request),
        }
    }

    /// Decides in this process's memory.
    pub(super) fn decide_here(&self, fallback: &Memory, request: &Request) -> Decided {
        let actor_of = |part: usize| self.actors.get(part).copied().unwrap_or(Fingerprint(0));
        let now = Moment::new(request.now);
        let infos = fallback.decide_several(&self.entries, &request.checks(), actor_of, now, self.call);
        let infos = infos.map_err(|(part, why)| self.refusal(part, why, &request.costs()))?;
        Ok(self.merge(&infos).into_degraded())
    }
}
