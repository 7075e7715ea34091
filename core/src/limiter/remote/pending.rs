//! A call that waits for a remote store, and the drop guard of its answer.

use std::sync::Arc;

use crate::charge::Charge;
use crate::clock;
use crate::decision::{Impossible, Verb};
use crate::error::{Error, LimitError, StoreError};
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::limit::Limit;
use crate::store::remote::{Answer, DenyKey, Job, Over, RemoteStore, Request, Since};
use crate::time::Micros;

/// A call whose answer is still to come.
pub(super) struct PendingCall {
    pub(super) store: Arc<RemoteStore>,
    /// The limit of each part, for errors.
    pub(super) limits: InlineVec<Limit>,
    /// The actor of each part.
    pub(super) actors: InlineVec<Fingerprint>,
    /// All answers, in the order of their checks.
    pub(super) answers: InlineVec<Answers>,
    /// The entries as this process's memory knows them.
    pub(super) entries: InlineVec<Fingerprint>,
    /// The key of its denial, if that may be remembered.
    pub(super) deny_key: Option<DenyKey>,
    pub(super) since: Since,
    /// The instant at which it was sent.
    pub(super) started: Micros,
    pub(super) call: Verb,
    /// Each check gets the same units.
    pub(super) grants_alike: bool,
}

/// An answer of a call.
#[derive(Clone, Copy)]
pub(super) struct Answers {
    /// The index of the check that it belongs to, which may be one that is not enforced.
    pub(super) check: usize,
    pub(super) observed: bool,
    /// The part that it is of; none where the check is limited by nothing. Checks of one limit and actor share theirs.
    pub(super) part: Option<usize>,
    /// The cost of the check.
    pub(super) cost: u64,
}

/// The answer of a call, or its error.
pub(super) type Decided = Result<LimitInfo, Error>;

/// An answer on its way to its caller. Dropped before it was taken, it gives back the turn that was reserved for that
/// caller, wherever it was lost.
pub(super) struct AnswerGuard {
    decided: Option<Decided>,
    /// The decision that took a place, where one did.
    back: Option<(Box<PendingCall>, Box<Request>)>,
}

impl AnswerGuard {
    pub(super) fn take(mut self) -> Decided {
        self.back = None;
        self.decided.take().unwrap_or_else(|| Err(lost()))
    }

    /// To a host, which gives the answer back if its caller is gone.
    fn hand_to(mut self, done: impl FnOnce(Decided) -> Result<(), Decided>) {
        let decided = self.decided.take().unwrap_or_else(|| Err(lost()));
        match done(decided) {
            Ok(()) => self.back = None,
            Err(without_caller) => self.decided = Some(without_caller),
        }
    }
}

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        if let (Some((pending, request)), Some(Ok(info))) = (self.back.take(), &self.decided) {
            pending.take_back(&request, info);
        }
    }
}

/// The beginning of a call: its answer is known already, or the store has to be asked.
pub(super) enum Begun {
    Known(Decided),
    Ask(Box<PendingCall>, Box<Request>),
}

/// A host whose callback runs once, even if all that knew of its call is dropped.
pub(super) struct Callback<F: FnOnce(Decided) -> Result<(), Decided>>(pub(super) Option<F>);

impl<F: FnOnce(Decided) -> Result<(), Decided>> Callback<F> {
    pub(super) fn take(mut self, guard: AnswerGuard) {
        if let Some(done) = self.0.take() {
            guard.hand_to(done);
        }
    }
}

impl<F: FnOnce(Decided) -> Result<(), Decided>> Drop for Callback<F> {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            let _ = done(Err(lost()));
        }
    }
}

impl PendingCall {
    /// The error that this part of the decision cannot be decided with.
    pub(super) fn refusal(&self, part: usize, why: Impossible, costs: &[u64]) -> LimitError {
        let key = self.limits.get(part).map_or("", Limit::key);
        why.of(self.call, key, costs.get(part).copied().unwrap_or(0))
    }

    /// Sends the decision on its way. `done` is called with the answer, on this thread if the store cannot be asked.
    pub(super) fn send(
        mut self: Box<Self>,
        request: Box<Request>,
        over: Over,
        done: impl FnOnce(AnswerGuard) + Send + 'static,
    ) -> Arc<Job> {
        self.started = clock::now();
        let store = self.store.clone();
        let (on_callers_runtime, hold) = store.hold(over);
        // Out of its box, as the request is below: what one thread makes and another frees has both wait for the
        // allocator, and with 512 calls at a time each took an eighth longer.
        let pending = *self;
        let done = Box::new(move |job: &Job, answer: Answer| {
            drop(hold);
            done(pending.deliver(job.request(), answer));
        });
        let job = Arc::new(Job::new(*request, store.settings.timeout, done));
        if let Err(failure) = store.send(&job, on_callers_runtime) {
            job.finish(Err(failure));
        }
        job
    }

    fn deliver(self, request: &Request, answer: Answer) -> AnswerGuard {
        let decided = self.to_info(request, answer);
        let took_a_place =
            matches!(self.call, Verb::Acquire { .. }) && decided.as_ref().is_ok_and(|info| !info.blocked);
        let back = took_a_place.then(|| (Box::new(self), Box::new(request.clone())));
        AnswerGuard { decided: Some(decided), back }
    }

    /// The caller is gone: the turn that was reserved is given back.
    fn take_back(self: Box<Self>, request: &Request, info: &LimitInfo) {
        let charge = Charge::of_turn(info);
        let verb = Verb::Undo { charged_at: charge.at };
        let of_part = |part| info.checks().iter().zip(&self.answers).find(|(_, of)| of.part == Some(part));
        let (turns, blocked): (InlineVec<Micros>, InlineVec<bool>) = (0..request.parts.len())
            .filter_map(of_part)
            .map(|(info, _)| (Charge::of_turn(info).at, info.blocked))
            .unzip();
        let mut undo = request.undone(charge.at, turns);
        undo.leave_uncharged(&blocked);
        let back = Self { call: verb, deny_key: None, ..*self };
        if info.degraded {
            // The store has charged nothing.
            let _ = back.decide_here(&back.store.state().fallback, &undo);
        } else {
            Box::new(back).send(Box::new(undo), Over::Background, drop);
        }
    }

    /// One answer for all, with those in between that are not limited at all.
    pub(super) fn merge(&self, infos: &[LimitInfo]) -> LimitInfo {
        let in_order = self.answers.iter().map(|of| {
            let info = of.part.map(|part| infos.get(part).cloned().unwrap_or_default());
            info.unwrap_or_else(|| LimitInfo::unlimited().granting(self.call.grants(of.cost)))
                .of_check(of.check, of.observed)
        });
        let mut infos: Vec<LimitInfo> = in_order.collect();
        LimitInfo::grant_together(&mut infos, self.grants_alike);
        LimitInfo::merged(infos)
    }
}

/// The runtime that was to bring the answer has ended.
pub(super) fn lost() -> Error {
    StoreError::new(Failure::Disconnected).into()
}
