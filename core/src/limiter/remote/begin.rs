//! The beginning of a call to a remote store: the deny cache, the fallback, and the request.

use super::Remote;
use super::pending::{Answers, Begun, Decided, PendingCall};
use crate::check::Check;
use crate::clock;
use crate::decision::{Call, Part, Verb};
use crate::distinct::Distinct;
use crate::error::{Error, LimitError};
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::limit::{EntryKind, Rules};
use crate::limiter::checks::{self, rules};
use crate::limiter::memory::Local;
use crate::store::memory::Moment;
use crate::store::remote::{DenyKey, EntryName, Key, OnError, PartList, ProcessState, Request};
use crate::time::Micros;

impl Remote {
    pub(super) fn begin(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
        on_callers_runtime: bool,
    ) -> Begun {
        crate::panics::point("begin");
        let state = self.store.state();
        let observing = match checks::of_call(checks, call) {
            Ok(observing) => observing,
            Err(error) => {
                state.stats.failed();
                return Begun::Known(Err(error.into()));
            }
        };
        let checks = observing.as_deref().unwrap_or(checks);
        let deny_key = self.deny_key(checks, call, now);
        let began = clock::now();
        if let Some(deny_key) = &deny_key
            && let Some(info) = state.denials.find(deny_key, began)
        {
            state.stats.cached();
            return Begun::Known(Ok(info));
        }
        if self.store.settings.on_error == OnError::Local && state.is_unavailable(on_callers_runtime) {
            return Begun::Known(self.decide_locally(&state, checks, call, now, began));
        }
        if call == Call::Reset {
            let entries: InlineVec<Fingerprint> = checks.iter().flat_map(|check| self.entries(check)).collect();
            state.fallback.remove(&entries, Moment::new(None));
        }
        match self.prepare(checks, call.into(), now, deny_key) {
            Err(error) => {
                state.stats.failed();
                Begun::Known(Err(error.into()))
            }
            Ok((pending, request)) if request.entries.is_empty() => {
                state.stats.answered(false);
                Begun::Known(Ok(pending.merge(&[])))
            }
            Ok((pending, request)) if matches!(call, Call::RenewDegraded { .. }) => {
                Begun::Known(pending.renewed_without_the_store(&state.fallback, &request))
            }
            Ok((pending, request)) if matches!(call, Call::UndoDegraded { .. }) => {
                Begun::Known(pending.decide_here(&state.fallback, &request))
            }
            Ok((pending, request)) => Begun::Ask(pending, request),
        }
    }

    /// The whole way in this process's memory, of a call that the store would not even be asked for.
    fn decide_locally(
        &self,
        state: &ProcessState,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
        began: Micros,
    ) -> Decided {
        let local = Local { memory: state.fallback.clone(), namespace: self.namespace };
        let admitted = checks.iter().try_for_each(|check| self.store.backend.admits(check.limit)).map_err(Error::from);
        let answer = admitted.and_then(|()| match call {
            Call::Undo { .. } => {
                // What the store charged is not state.
                let added = checks.iter().map(|check| check.cost(0).spent(check.spent.saturating_sub(check.cost)));
                local.decide_on(&added.collect::<Vec<_>>(), call, now)
            }
            _ => local.decide_on(checks, call, now),
        });
        let answer = answer.map(LimitInfo::into_degraded);
        if Verb::from(call).gives_back() {
            checks.iter().flat_map(|check| self.entries(check)).for_each(|entry| state.forget_denials(entry));
        }
        if answer.as_ref().is_ok_and(|info| info.degraded) {
            state.degraded(Failure::Unavailable, began);
        }
        state.stats.came_to(&answer, Verb::from(call).gives_back());
        answer
    }

    /// All that these checks' entries can be called in this process.
    fn entries(&self, check: &Check<'_>) -> impl Iterator<Item = Fingerprint> + use<> {
        let owner = self.namespace ^ Fingerprint::of_actor(check.actor);
        check.limit.places().map(move |(_, entry)| owner ^ entry)
    }

    /// The key of this call among the denials that are remembered.
    fn deny_key(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Option<DenyKey> {
        let [check] = checks else { return None };
        // Any process may release units that are held, at any time.
        let is_final = !check.limit.counts_blocked() && !check.limit.holds();
        if call != Call::Limit || !check.is_plain() || now.is_some() || !is_final {
            return None;
        }
        let entry = self.fingerprint(check.limit, check.actor);
        Some(DenyKey { entry, definition: check.limit.digest(), cost: check.cost, factor: check.factor })
    }

    pub(super) fn pending_call(&self, call: Verb, deny_key: Option<DenyKey>) -> Box<PendingCall> {
        Box::new(PendingCall {
            store: self.store.clone(),
            limits: InlineVec::new(),
            actors: InlineVec::new(),
            answers: InlineVec::new(),
            entries: InlineVec::new(),
            deny_key,
            since: self.store.state().denials.since(),
            started: 0,
            call,
            grants_alike: false,
        })
    }

    pub(super) fn prepare(
        &self,
        checks: &[Check<'_>],
        verb: Verb,
        now: Option<Micros>,
        deny_key: Option<DenyKey>,
    ) -> Result<(Box<PendingCall>, Box<Request>), LimitError> {
        let summed = checks::agree(checks, verb)?;
        checks::at_least(checks, verb, summed.is_some())?;
        let checks = summed.as_ref().map_or(checks, |summed| &summed.checks);
        let mut pending = self.pending_call(verb, deny_key);
        pending.grants_alike = checks.iter().any(|check| check.at_least > 0);
        let mut keys: InlineVec<Key> = InlineVec::new();
        let mut entries: Distinct<Fingerprint> = Distinct::default();
        let mut parts = PartList::new();
        let backend = &self.store.backend;
        for (index, check) in checks.iter().enumerate() {
            let key = |EntryKind { shape, is_block }| {
                let name = EntryName::new(&self.name, check.actor, check.limit.key(), shape);
                backend.key(EntryName { is_block, ..name })
            };
            backend.admits(check.limit)?;
            let rules = rules(check)?;
            let actor = Fingerprint::of_actor(check.actor);
            let first = self.namespace ^ check.limit.fingerprint() ^ actor;
            if verb == Verb::Reset {
                // Whatever their shape.
                let every = EntryKind::all().zip(self.entries(check));
                let keeps = |kind: &EntryKind| {
                    backend.shapes().contains(&kind.shape) && (!kind.is_block || backend.keeps_blocks())
                };
                for (kind, fingerprint) in every.filter(|(kind, _)| keeps(kind)) {
                    if entries.index_of(&fingerprint) == keys.len() {
                        keys.push(key(kind));
                    }
                }
            }
            for (number, (kind, rule)) in rules.placed().enumerate() {
                let entry = entries.index_of(&kind.beside(first, number));
                if entry == keys.len() {
                    keys.push(key(kind));
                }
                let Check { cost, at_least, spent, charged_at, .. } = *check;
                parts.push(Part {
                    rule: *rule,
                    cost,
                    at_least,
                    spent,
                    charged_at,
                    entry,
                    observed: check.group(index),
                });
                pending.limits.push(check.limit.clone());
                pending.actors.push(actor);
                // What a block says is in the answer before it.
                if !kind.is_block {
                    let part = Some(parts.len() - 1);
                    pending.answers.push(Answers { check: index, observed: check.observed, part, cost });
                }
            }
            if matches!(rules, Rules::Unlimited) {
                let Check { cost, observed, .. } = *check;
                pending.answers.push(Answers { check: index, observed, part: None, cost });
            }
        }
        if let Some(summed) = &summed {
            let of = |(check, place): (usize, &usize)| {
                let of_place = pending.answers.iter().filter(|answer| answer.check == *place);
                of_place.map(|answer| Answers { check, ..*answer }).collect::<InlineVec<Answers>>()
            };
            pending.answers = summed.places.iter().enumerate().flat_map(of).collect();
        }
        pending.entries = entries.into_list();
        // Two rules have two answers, of which only one could be remembered.
        pending.deny_key = pending.deny_key.filter(|_| pending.answers.len() == 1);
        let costs: InlineVec<u64> = parts.iter().map(|part| part.cost).collect();
        let request = Request::new(verb, keys, parts, now).map_err(|(part, why)| pending.refusal(part, why, &costs))?;
        let mut request = Box::new(request.of_resolution(backend.resolution()));
        if backend.names_may_coincide() {
            request.merge_names();
        }
        Ok((pending, request))
    }
}
