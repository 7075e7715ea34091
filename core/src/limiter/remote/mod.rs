//! The front door of a shared store.

mod answer;
mod begin;
mod pending;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use self::pending::{AnswerGuard, Begun, Decided, Host, PendingCall, lost};
use crate::check::Check;
use crate::clock;
use crate::decision::{Call, Verb};
use crate::error::Error;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::interrupt;
use crate::limit::Limit;
use crate::store::memory::Memory;
use crate::store::redis::{Decision, Redis, Settings, Upkeep};
use crate::store::redis::{ProcessState, RemoteStore};
use crate::store::remote::Statistics;
use crate::time::Micros;

/// A limiter's part of a store that others use as well.
#[derive(Clone, Debug)]
pub(in crate::limiter) struct Fleet {
    pub(in crate::limiter) shared: Arc<RemoteStore>,
    /// The namespace, as the store spells it and as this process does.
    pub(in crate::limiter) name: Arc<str>,
    pub(in crate::limiter) namespace: Fingerprint,
}

/// The time past a deadline for which a thread waits for the store's thread to report the end of a call.
const GRACE: Duration = Duration::from_millis(5);

impl Fleet {
    pub(in crate::limiter) fn new(store: Redis) -> Self {
        let settings = store.into_settings();
        let (name, namespace) = (settings.namespace().into(), Fingerprint::of_namespace(settings.namespace()));
        let shared = Arc::new(RemoteStore::new(settings));
        // So that the first call need not wait for it.
        shared.begin_to_connect();
        Self { shared, name, namespace }
    }

    pub(in crate::limiter) fn namespace(&self, namespace: &str) -> Self {
        let shared = self.shared.clone();
        Self { shared, name: namespace.into(), namespace: Fingerprint::of_namespace(namespace) }
    }

    pub(in crate::limiter) fn url(&self) -> String {
        self.shared.settings.url()
    }

    pub(in crate::limiter) fn fingerprint(&self, limit: &Limit, actor: &str) -> Fingerprint {
        self.namespace ^ limit.fingerprint() ^ Fingerprint::of_actor(actor)
    }

    /// Connects, if that can be done in time.
    pub(in crate::limiter) async fn greet(&self) {
        let pending = self.pending_call(Verb::Refund, None);
        // A server that is not there is no error yet.
        let _ = Self::ask(pending, self.shared.settings.probe()).await;
    }

    /// The worker for operators' tasks on the store, and the runtime that it works on.
    pub(in crate::limiter) fn upkeep(&self) -> std::io::Result<(Upkeep, Handle)> {
        self.shared.here_for_sure().upkeep(&self.shared.settings)
    }

    pub(in crate::limiter) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    pub(in crate::limiter) fn here(&self) -> Arc<ProcessState> {
        arc_swap::Guard::into_inner(self.shared.here())
    }

    pub(in crate::limiter) fn namespace_name(&self) -> Arc<str> {
        self.name.clone()
    }

    pub(in crate::limiter) fn fallback(&self) -> Arc<Memory> {
        self.shared.here().fallback.clone()
    }

    pub(in crate::limiter) fn stats(&self) -> Statistics {
        self.shared.here().stats.read(self.shared.breaker())
    }

    /// Decides on this thread, which waits for the answer.
    pub(in crate::limiter) fn decide_sync(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        match self.begin(checks, call, now, false) {
            Begun::Known(answer) => answer,
            Begun::Ask(pending, decision) => self.wait(pending, decision),
        }
    }

    fn wait(&self, pending: Box<PendingCall>, decision: Decision) -> Result<LimitInfo, Error> {
        let (answered, answer) = sync_channel(1);
        let job = pending.send(decision, false, move |guard| drop(answered.send(guard)));
        let patience = self.shared.settings.timeout() + GRACE;
        match receive(&answer, patience) {
            Ok(Ok(guard)) => guard.take(),
            Ok(Err(RecvTimeoutError::Timeout)) => {
                job.fail(Failure::Timeout);
                answer.recv().map_or_else(|_| Err(lost()), AnswerGuard::take)
            }
            Ok(Err(RecvTimeoutError::Disconnected)) => Err(lost()),
            Err(Interrupted) => Err(Error::Interrupted),
        }
    }

    /// Decides while other tasks go on.
    pub(in crate::limiter) async fn decide(
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
            Begun::Ask(pending, decision) => Self::ask(pending, decision).await,
        }
    }

    /// [`wait`](Self::wait) without a thread.
    async fn ask(pending: Box<PendingCall>, decision: Decision) -> Decided {
        let (answered, answer) = oneshot::channel();
        pending.send(decision, true, move |guard| drop(answered.send(guard)));
        answer.await.map_or_else(|_| Err(lost()), AnswerGuard::take)
    }

    /// Begins to decide; either the answer is here at once, or `done` is told on the store's thread. It gives the
    /// answer back if nobody listens any more.
    pub(in crate::limiter) fn start(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
        done: impl FnOnce(Decided) -> Result<(), Decided> + Send + 'static,
    ) -> Option<Decided> {
        match self.begin(checks, call, now, false) {
            Begun::Known(answer) => Some(answer),
            Begun::Ask(pending, decision) => {
                let host = Host(Some(done));
                pending.send(decision, false, |guard| host.take(guard));
                None
            }
        }
    }
}

/// A host does not want to wait any longer.
struct Interrupted;

/// Waits for an answer, in slices where a host wants to be asked meanwhile.
fn receive(
    answer: &Receiver<AnswerGuard>,
    patience: Duration,
) -> Result<Result<AnswerGuard, RecvTimeoutError>, Interrupted> {
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
