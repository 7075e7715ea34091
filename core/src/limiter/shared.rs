//! Decisions that a store of a fleet makes, and what is answered when it cannot.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::checks::{self, rules};
use super::local::Local;
use crate::charge::Charge;
use crate::check::Check;
use crate::clock;
use crate::decision::{Call, Impossible, Part, Verb};
use crate::distinct::Distinct;
use crate::error::{Error, LimitError, StoreError};
use crate::failure::Failure;
use crate::few::Few;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::interrupt;
use crate::limit::{Limit, Rule, Rules, Shape};
use crate::policy::{OnError, Question, Since};
use crate::stats::Statistics;
use crate::store::memory::{Memory, Moment};
use crate::store::redis::{Answer, Decision, Job, Key, ProcessState, Redis, RemoteStore, Reply, Settings, Upkeep};
use crate::time::Micros;

/// A limiter's part of a store that others use as well.
#[derive(Clone, Debug)]
pub(super) struct Fleet {
    shared: Arc<RemoteStore>,
    /// The namespace, as the store spells it and as this process does.
    name: Arc<str>,
    namespace: Fingerprint,
}

/// What has to be known of a call when its answer comes.
pub(super) struct Caller {
    shared: Arc<RemoteStore>,
    /// The limit of each part, for errors.
    limits: Few<Limit>,
    /// The actor of each part.
    actors: Few<Fingerprint>,
    /// Of each answer, whether something is limited there.
    limited: Few<bool>,
    /// The entries as this process's memory knows them.
    entries: Few<Fingerprint>,
    /// What may be remembered if it is denied.
    question: Option<Question>,
    since: Since,
    started: Micros,
    call: Verb,
}

/// What came of a call.
type Decided = Result<LimitInfo, Error>;

/// An answer on its way to whoever asked. Dropped before somebody has taken it, it gives back the place that was taken
/// for them, wherever it was lost: on its way, or where nobody picked it up.
struct Delivery {
    decided: Option<Decided>,
    /// The decision that took a place, where one did.
    back: Option<(Box<Caller>, Decision)>,
}

impl Delivery {
    fn take(mut self) -> Decided {
        self.back = None;
        self.decided.take().unwrap_or_else(|| Err(lost()))
    }
}

impl Delivery {
    /// To a host, which gives the answer back if nobody listens any more.
    fn hand_to(mut self, done: impl FnOnce(Decided) -> Result<(), Decided>) {
        let decided = self.decided.take().unwrap_or_else(|| Err(lost()));
        match done(decided) {
            Ok(()) => self.back = None,
            Err(unheard) => self.decided = Some(unheard),
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if let (Some((caller, decision)), Some(Ok(info))) = (self.back.take(), &self.decided) {
            caller.take_back(&decision, info);
        }
    }
}

/// How a call begins: it is known already what it comes to, or the store has to be asked.
#[expect(clippy::large_enum_variant, reason = "it lives for as long as it takes to match it")]
enum Begun {
    Known(Decided),
    Ask(Box<Caller>, Decision),
}

/// How much longer than a deadline a thread waits for the store's thread to say that it is over.
const GRACE: Duration = Duration::from_millis(5);

impl Fleet {
    pub(super) fn new(store: Redis) -> Self {
        let settings = store.into_settings();
        let (name, namespace) = (settings.namespace().into(), Fingerprint::of_namespace(settings.namespace()));
        let shared = Arc::new(RemoteStore::new(settings));
        // So that the first call need not wait for it.
        shared.begin_to_connect();
        Self { shared, name, namespace }
    }

    pub(super) fn namespace(&self, namespace: &str) -> Self {
        let shared = self.shared.clone();
        Self { shared, name: namespace.into(), namespace: Fingerprint::of_namespace(namespace) }
    }

    pub(super) fn url(&self) -> String {
        self.shared.settings.url()
    }

    pub(super) fn fingerprint(&self, limit: &Limit, actor: &str) -> Fingerprint {
        self.namespace ^ limit.fingerprint() ^ Fingerprint::of_actor(actor)
    }

    /// Connects, if that can be done in time.
    pub(super) async fn greet(&self) {
        let caller = self.caller(Verb::Refund, None);
        // A server that is not there is no error yet.
        let _ = Self::ask(caller, self.shared.settings.probe()).await;
    }

    /// What works on the store for operators, and the runtime that it works on.
    pub(super) fn upkeep(&self) -> std::io::Result<(Upkeep, Handle)> {
        self.shared.here_for_sure().upkeep(&self.shared.settings)
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    pub(super) fn here(&self) -> Arc<ProcessState> {
        arc_swap::Guard::into_inner(self.shared.here())
    }

    pub(super) fn namespace_name(&self) -> Arc<str> {
        self.name.clone()
    }

    pub(super) fn fallback(&self) -> Arc<Memory> {
        self.shared.here().fallback.clone()
    }

    pub(super) fn stats(&self) -> Statistics {
        self.shared.here().stats.read(self.shared.breaker())
    }

    /// Decides on this thread, which waits for the answer.
    pub(super) fn decide_sync(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        match self.begin(checks, call, now, false) {
            Begun::Known(answer) => answer,
            Begun::Ask(caller, decision) => self.wait(caller, decision),
        }
    }

    fn wait(&self, caller: Box<Caller>, decision: Decision) -> Result<LimitInfo, Error> {
        let (answered, answer) = sync_channel(1);
        let job = caller.send(decision, false, move |delivery| drop(answered.send(delivery)));
        let patience = self.shared.settings.timeout() + GRACE;
        match receive(&answer, patience) {
            Ok(Ok(delivery)) => delivery.take(),
            Ok(Err(RecvTimeoutError::Timeout)) => {
                job.fail(Failure::Timeout);
                answer.recv().map_or_else(|_| Err(lost()), Delivery::take)
            }
            Ok(Err(RecvTimeoutError::Disconnected)) => Err(lost()),
            Err(Interrupted) => Err(Error::Interrupted),
        }
    }

    /// Decides while other tasks go on.
    pub(super) async fn decide(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        match self.begin(checks, call, now, true) {
            Begun::Known(answer) => {
                // Whoever asks again and again must not keep the task from its thread that finds the store well again.
                tokio::task::coop::consume_budget().await;
                answer
            }
            Begun::Ask(caller, decision) => Self::ask(caller, decision).await,
        }
    }

    /// [`wait`](Self::wait) without a thread.
    async fn ask(caller: Box<Caller>, decision: Decision) -> Decided {
        let (answered, answer) = oneshot::channel();
        caller.send(decision, true, move |delivery| drop(answered.send(delivery)));
        answer.await.map_or_else(|_| Err(lost()), Delivery::take)
    }

    /// Begins to decide; either the answer is here at once, or `done` is told on the store's thread. It gives the
    /// answer back if nobody listens any more.
    pub(super) fn start(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
        done: impl FnOnce(Decided) -> Result<(), Decided> + Send + 'static,
    ) -> Option<Decided> {
        match self.begin(checks, call, now, false) {
            Begun::Known(answer) => Some(answer),
            Begun::Ask(caller, decision) => {
                let host = Host(Some(done));
                caller.send(decision, false, |delivery| host.take(delivery));
                None
            }
        }
    }

    fn begin(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>, on_callers_runtime: bool) -> Begun {
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

    /// What names this call among the denials that are remembered.
    fn question(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Option<Question> {
        let [check] = checks else { return None };
        if call != Call::Limit || now.is_some() || check.limit.counts_blocked() {
            return None;
        }
        let entry = self.fingerprint(check.limit, check.actor);
        Some(Question { entry, definition: check.limit.digest(), cost: check.cost, factor: check.factor })
    }

    fn caller(&self, call: Verb, question: Option<Question>) -> Box<Caller> {
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

/// A host that is told once what came of its call, even if all that knew of it is dropped.
struct Host<F: FnOnce(Decided) -> Result<(), Decided>>(Option<F>);

impl<F: FnOnce(Decided) -> Result<(), Decided>> Host<F> {
    fn take(mut self, delivery: Delivery) {
        if let Some(done) = self.0.take() {
            delivery.hand_to(done);
        }
    }
}

impl<F: FnOnce(Decided) -> Result<(), Decided>> Drop for Host<F> {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            let _ = done(Err(lost()));
        }
    }
}

impl Caller {
    /// The error that this part of the decision cannot be decided with.
    fn refusal(&self, part: usize, why: Impossible, costs: &[u64]) -> LimitError {
        let key = self.limits.get(part).map_or("", Limit::key);
        why.of(key, costs.get(part).copied().unwrap_or(0))
    }

    /// Sends the decision on its way. `done` is told the answer, on this thread if the store cannot be asked.
    fn send(
        self: Box<Self>,
        decision: Decision,
        on_callers_runtime: bool,
        done: impl FnOnce(Delivery) + Send + 'static,
    ) -> Arc<Job> {
        let shared = self.shared.clone();
        let done = Box::new(move |job: &Job, answer: Answer| done(self.deliver(job.decision(), answer)));
        let job = Arc::new(Job::new(decision, shared.settings.timeout(), done));
        if let Err(failure) = shared.send(&job, on_callers_runtime) {
            job.finish(Err(failure));
        }
        job
    }

    /// Puts into words what came of the decision.
    fn word(&self, decision: &Decision, answer: Answer) -> Result<LimitInfo, Error> {
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
                if let Some(question) = self.question.filter(|_| info.blocked) {
                    here.denials.keep(question, &info, heard, reset, self.since);
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
    fn decide_here(&self, fallback: &Memory, decision: &Decision) -> Decided {
        let actor_of = |part: usize| self.actors.get(part).copied().unwrap_or(Fingerprint(0));
        let now = Moment::new(decision.now);
        let infos = fallback.decide_several(&self.entries, &decision.parts, actor_of, now, self.call);
        let infos = infos.map_err(|(part, why)| self.refusal(part, why, &decision.costs()))?;
        Ok(self.merge(infos.into_iter().collect()).into_degraded())
    }

    fn deliver(self: Box<Self>, decision: &Decision, answer: Answer) -> Delivery {
        let decided = self.word(decision, answer);
        let took_a_place =
            matches!(self.call, Verb::Acquire { .. }) && decided.as_ref().is_ok_and(|info| !info.blocked);
        let back = took_a_place.then(|| (self, decision.clone()));
        Delivery { decided: Some(decided), back }
    }

    /// Nobody waits for this answer any more: the place that was taken is given back.
    fn take_back(self: Box<Self>, decision: &Decision, info: &LimitInfo) {
        let charge = Charge::of_turn(info);
        let verb = Verb::Undo { charged_at: charge.at };
        let limited = info.checks().iter().zip(&self.limited).filter(|(_, limited)| **limited);
        let undo = decision.undone(charge.at, limited.map(|(info, _)| Charge::of_turn(info).at));
        let back = Self { call: verb, question: None, ..*self };
        if info.degraded {
            // The store has charged nothing.
            let _ = back.decide_here(&back.shared.here().fallback, &undo);
        } else {
            Box::new(back).send(undo, false, drop);
        }
    }

    /// One answer for all, with those in between that are not limited at all.
    fn merge(&self, infos: Few<LimitInfo>) -> LimitInfo {
        let mut infos = infos.into_iter();
        let in_order = self.limited.iter().map(|limited| {
            let info = if *limited { infos.next() } else { None };
            info.unwrap_or_else(LimitInfo::unlimited)
        });
        LimitInfo::merged(in_order.collect())
    }
}

/// A host does not want to wait any longer.
struct Interrupted;

/// Waits for an answer, in slices where a host wants to be asked meanwhile.
fn receive(answer: &Receiver<Delivery>, patience: Duration) -> Result<Result<Delivery, RecvTimeoutError>, Interrupted> {
    let Some(go_on) = interrupt::asked_while_waiting() else { return Ok(answer.recv_timeout(patience)) };
    let mut left = patience;
    while left > interrupt::SLICE {
        let began = clock::now();
        match answer.recv_timeout(interrupt::SLICE) {
            Err(RecvTimeoutError::Timeout) if !go_on() => return Err(Interrupted),
            Err(RecvTimeoutError::Timeout) => {}
            heard => return Ok(heard),
        }
        left = left.saturating_sub(Duration::from_micros(clock::now().saturating_sub(began)));
    }
    Ok(answer.recv_timeout(left))
}

/// The runtime that was to bring the answer has ended.
fn lost() -> Error {
    StoreError::new(Failure::Disconnected, "", None).into()
}
