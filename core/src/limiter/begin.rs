//! The beginning of a call to a shared store: the deny cache, the fallback, and the request.

use super::checks::{self, rules};
use super::local::Local;
use super::pending::{Begun, Caller, Decided};
use super::shared::Fleet;
use crate::check::Check;
use crate::clock;
use crate::decision::{Call, Part, Verb};
use crate::distinct::Distinct;
use crate::error::{Error, LimitError};
use crate::failure::Failure;
use crate::few::Few;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::limit::Rules;
use crate::policy::{OnError, Question};
use crate::shape::Shape;
use crate::store::memory::Moment;
use crate::store::redis::{Decision, Key, ProcessState};
use crate::time::Micros;

impl Fleet {
    pub(super) fn begin(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
        on_callers_runtime: bool,
    ) -> Begun {
        crate::panics::point("begin");
        let here = self.shared.here();
        let question = self.question(checks, call, now);
        if let Some(question) = &question
            && let Some(info) = here.denials.find(question, clock::now())
        {
            here.stats.cached();
            return Begun::Known(Ok(info));
        }
        if self.shared.settings.on_error == OnError::Local && self.shared.is_open(on_callers_runtime) {
            return Begun::Known(self.decide_locally(&here, checks, call, now));
        }
        if call == Call::Reset {
            let entries: Few<Fingerprint> = checks.iter().flat_map(|check| self.entries(check)).collect();
            here.fallback.remove(&entries, Moment::new(None));
        }
        match self.prepare(checks, call.into(), now, question) {
            Err(error) => {
                here.stats.failed();
                Begun::Known(Err(error.into()))
            }
            Ok((caller, decision)) if decision.entries.is_empty() => {
                here.stats.answered(false);
                Begun::Known(Ok(caller.merge(Few::new())))
            }
            Ok((caller, decision)) if matches!(call, Call::UndoDegraded { .. }) => {
                Begun::Known(caller.decide_here(&here.fallback, &decision))
            }
            Ok((caller, decision)) => Begun::Ask(caller, decision),
        }
    }

    /// The whole way in this process's memory, of a call that the store would not even be asked for.
    fn decide_locally(&self, here: &ProcessState, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Decided {
        let layout = self.shared.settings.layout();
        let local = Local { memory: here.fallback.clone(), namespace: self.namespace };
        let admitted = checks.iter().try_for_each(|check| layout.admits(check.limit)).map_err(Error::from);
        let answer = admitted.and_then(|()| match call {
            Call::Undo { .. } => {
                // What the store charged is not here.
                let added = checks.iter().map(|check| check.cost(0).spent(check.spent.saturating_sub(check.cost)));
                local.decide_on(&added.collect::<Vec<_>>(), call, now)
            }
            _ => local.decide_on(checks, call, now),
        });
        let answer = answer.map(LimitInfo::into_degraded);
        if Verb::from(call).gives_back() {
            checks.iter().flat_map(|check| self.entries(check)).for_each(|entry| here.denials.forget(entry));
        }
        if answer.as_ref().is_ok_and(|info| info.degraded) {
            here.degraded(Failure::Unavailable);
        }
        here.stats.came_to(&answer);
        answer
    }

    /// All that these checks' entries can be called in this process.
    fn entries(&self, check: &Check<'_>) -> impl Iterator<Item = Fingerprint> + use<> {
        let owner = self.namespace ^ Fingerprint::of_actor(check.actor);
        check.limit.fingerprints().into_iter().map(move |entry| owner ^ entry)
    }

    /// The key of this call among the denials that are remembered.
    fn question(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Option<Question> {
        let [check] = checks else { return None };
        if call != Call::Limit || now.is_some() || check.limit.counts_blocked() {
            return None;
        }
        let entry = self.fingerprint(check.limit, check.actor);
        Some(Question { entry, definition: check.limit.digest(), cost: check.cost, factor: check.factor })
    }

    pub(super) fn caller(&self, call: Verb, question: Option<Question>) -> Box<Caller> {
        Box::new(Caller {
            shared: self.shared.clone(),
            limits: Few::new(),
            actors: Few::new(),
            limited: Few::new(),
            entries: Few::new(),
            question,
            since: self.shared.here().denials.since(),
            started: clock::now(),
            call,
        })
    }

    pub(super) fn prepare(
        &self,
        checks: &[Check<'_>],
        verb: Verb,
        now: Option<Micros>,
        question: Option<Question>,
    ) -> Result<(Box<Caller>, Decision), LimitError> {
        checks::agree(checks)?;
        let mut caller = self.caller(verb, question);
        let mut keys: Few<Key> = Few::new();
        let mut entries: Distinct<Fingerprint> = Distinct::default();
        let mut parts: Few<Part> = Few::new();
        let layout = self.shared.settings.layout();
        for check in checks {
            layout.admits(check.limit)?;
            let rules = rules(check)?;
            let actor = Fingerprint::of_actor(check.actor);
            let first = self.namespace ^ check.limit.fingerprint() ^ actor;
            if verb == Verb::Reset {
                // Whatever their shape.
                let every = Shape::ALL.into_iter().zip(self.entries(check));
                for (shape, fingerprint) in every.filter(|(shape, _)| layout.shapes().contains(shape)) {
                    if entries.index_of(&fingerprint) == keys.len() {
                        keys.push(layout.key(&self.name, check.actor, check.limit.key(), shape));
                    }
                }
            }
            for ((shape, rule), fingerprint) in rules.shaped().zip([first, first.second()]) {
                let entry = entries.index_of(&fingerprint);
                if entry == keys.len() {
                    keys.push(layout.key(&self.name, check.actor, check.limit.key(), shape));
                }
                let Check { cost, spent, charged_at, .. } = *check;
                parts.push(Part { rule: *rule, cost, spent, charged_at, entry });
                caller.limits.push(check.limit.clone());
                caller.actors.push(actor);
                caller.limited.push(true);
            }
            if matches!(rules, Rules::Unlimited) {
                caller.limited.push(false);
            }
        }
        caller.entries = entries.into_list();
        // Two rules have two answers, of which only one could be remembered.
        caller.question = caller.question.filter(|_| parts.len() == 1);
        let costs: Few<u64> = parts.iter().map(|part| part.cost).collect();
        let decision =
            Decision::call(verb, keys, parts, now).map_err(|(part, why)| caller.refusal(part, why, &costs))?;
        Ok((caller, decision.laid_out(layout)))
    }
}
