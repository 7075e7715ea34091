//! Decisions of a store that is asked over a network.

mod answer;
mod begin;
mod pending;
mod upkeep;

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use tokio::sync::oneshot;

use self::pending::{AnswerGuard, Begun, Callback, Decided, PendingCall, lost};
use crate::check::Check;
use crate::clock;
use crate::decision::Call;
#[cfg(feature = "redis")]
use crate::decision::Verb;
use crate::error::Error;
use crate::failure::Failure;
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::interrupt;
use crate::limit::Limit;
use crate::store::memory::Memory;
use crate::store::remote::{Backend, LONGEST_DRIVE, Over, RemoteStore, Request, Settings, Statistics, task};
use crate::time::Micros;

/// A limiter's part of a remote store.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    pub(super) store: Arc<RemoteStore>,
    /// The namespace, as the store spells it and as this process does.
    pub(super) name: Arc<str>,
    pub(super) namespace: Fingerprint,
}

/// The time past a deadline for which a thread waits for the store's thread to report the end of a call.
const GRACE: Duration = Duration::from_millis(5);
/// The time for which a thread waits before the host is asked, which may have been driving before.
const SLICE: Duration = interrupt::SLICE.saturating_sub(LONGEST_DRIVE);

impl Remote {
    pub(super) fn new(backend: impl Backend, settings: Settings) -> Self {
        let (name, namespace) = (settings.name().into(), Fingerprint::of_namespace(settings.name()));
        let store = Arc::new(RemoteStore::new(backend, settings));
        // So that the first call need not wait for it.
        store.begin_to_connect();
        Self { store, name, namespace }
    }

    pub(super) fn namespace(&self, namespace: &str) -> Self {
        let store = self.store.clone();
        Self { store, name: namespace.into(), namespace: Fingerprint::of_namespace(namespace) }
    }

    #[cfg(feature = "redis")]
    pub(super) fn url(&self) -> String {
        self.store.backend.url()
    }

    #[inline]
    pub(super) fn fingerprint(&self, limit: &Limit, actor: &str) -> Fingerprint {
        self.namespace ^ limit.fingerprint() ^ Fingerprint::of_actor(actor)
    }

    /// Connects, if that can be done in time.
    #[cfg(feature = "redis")]
    pub(super) async fn connect(&self) {
        let pending = self.pending_call(Verb::Refund, None);
        // A server that is not there is no error yet.
        let _ = Self::ask(pending, Box::new(self.store.probe())).await;
    }

    pub(super) fn fallback(&self) -> Arc<Memory> {
        self.store.state().fallback.clone()
    }

    pub(super) fn stats(&self) -> Statistics {
        self.store.state().stats.read(self.store.breaker())
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
            Begun::Ask(pending, request) => self.wait(pending, request),
        }
    }

    fn wait(&self, pending: Box<PendingCall>, request: Box<Request>) -> Result<LimitInfo, Error> {
        let (answered, answer) = sync_channel(1);
        let begin = |over| pending.send(request, over, move |guard| drop(answered.send(guard)));
        let (job, _blocking) = self.store.block(begin);
        match receive(&answer, job.time_left() + GRACE) {
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
    pub(super) async fn decide(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        match self.begin(checks, call, now, true) {
            Begun::Known(answer) => {
                // A caller that asks again and again must not keep the task from its thread that finds the store back.
                tokio::task::coop::consume_budget().await;
                answer
            }
            Begun::Ask(pending, request) => Self::ask(pending, request).await,
        }
    }

    /// [`wait`](Self::wait) without a thread.
    async fn ask(pending: Box<PendingCall>, request: Box<Request>) -> Decided {
        let (answered, answer) = oneshot::channel();
        pending.send(request, Over::Callers, move |guard| drop(answered.send(guard)));
        answer.await.map_or_else(|_| Err(lost()), AnswerGuard::take)
    }

    /// Begins to decide: either the answer is here at once, or the call is still to be sent. `done` is called on the
    /// store's thread then. It gives the answer back if its caller is gone.
    pub(super) fn hold(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
        done: impl FnOnce(Decided) -> Result<(), Decided> + Send + 'static,
    ) -> Result<Decided, UnsentCall> {
        match self.begin(checks, call, now, false) {
            Begun::Known(answer) => Ok(answer),
            Begun::Ask(pending, request) => {
                let callback = Callback(Some(done));
                let send = move || pending.send(request, Over::Background, |guard| callback.take(guard)).is_over();
                Err(UnsentCall(Box::new(send)))
            }
        }
    }
}

/// A call that is not on its way yet: its deadline counts from when it is sent. One that is dropped ends in an error.
pub struct UnsentCall(Box<dyn FnOnce() -> IsAnswered>);

/// True for a call that sending has answered already.
type IsAnswered = bool;

impl UnsentCall {
    /// Sends the call.
    pub fn send(self) {
        Self::send_together([self]);
    }

    /// Sends calls, which may share their round trips, and counts those that are on their way then.
    pub fn send_together(calls: impl IntoIterator<Item = Self>) -> usize {
        task::send(|| calls.into_iter().map(|Self(send)| send()).filter(|is_answered| !is_answered).count())
    }
}

impl fmt::Debug for UnsentCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnsentCall")
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
    while left > SLICE {
        let began = clock::now();
        match answer.recv_timeout(SLICE) {
            Err(RecvTimeoutError::Timeout) if !go_on() => return Err(Interrupted),
            Err(RecvTimeoutError::Timeout) => {}
            heard => return Ok(heard),
        }
        left = left.saturating_sub(Duration::from_micros(clock::now().saturating_sub(began)));
    }
    Ok(answer.recv_timeout(left))
}
