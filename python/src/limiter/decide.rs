//! Decisions for a thread that waits for them.

use std::time::Duration;

use pyo3::prelude::*;
use tidegate::acquire::Acquire;
use tidegate::{Call, Check, Micros, ffi};

use super::caller::Taking;
use super::state::Limiter;
use super::verbs::Caller;
use crate::aio::AcquireHandle;
use crate::check::Checks;
use crate::errors::{call_error, closed};
use crate::hub::Hub;
use crate::info::LimitInfo;
use crate::receipt::Receipt;
use crate::request::{Reply, Request};
use crate::steps::AcquireSteps;
use crate::{log_queue, signals};

impl Caller for Limiter {
    fn limiter(&self) -> &Limiter {
        self
    }

    fn ready(&self, _py: Python<'_>) -> PyResult<()> {
        if self.in_memory()?.is_some() {
            return Ok(());
        }
        self.opened().as_deref().map(drop).ok_or_else(closed)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the way of nearly every call")]
    fn call<'py>(&self, py: Python<'py>, request: Request) -> PyResult<Bound<'py, PyAny>> {
        // A reply is taken apart where it is made: one that is moved first takes a fifth of the call.
        match self.in_memory()? {
            Some(engine) if request.is_usual() => limit_here(py, engine, request),
            Some(engine) => {
                let reply = request.with(py, |checks, call, now| decide(engine, checks, call, now));
                request.complete(py, reply)
            }
            None => self.call_shared(py, request),
        }
    }

    fn wait<'py>(&self, py: Python<'py>, request: Request, max_wait: Duration) -> PyResult<Bound<'py, PyAny>> {
        if request.now.is_some() {
            return self.call(py, request);
        }
        let acquire = self.start_acquire(py, &request, max_wait)?;
        let hub = if self.is_shared() { Hub::current(py)? } else { None };
        let Some(hub) = hub else { return AcquireSteps::new(acquire, request, self.is_shared()).wait(py) };
        let handle = AcquireHandle::begin(&hub.bridge()?, acquire, request)?;
        hub.wait(handle.future.bind(py)).inspect_err(|_| handle.cancel())
    }
}

impl Limiter {
    #[inline(never)]
    fn call_shared<'py>(&self, py: Python<'py>, request: Request) -> PyResult<Bound<'py, PyAny>> {
        if request.now.is_none() && ffi::is_remote(self.kept()?.as_ref()) && request.is_to_be_released() {
            return self.wait(py, request, Duration::ZERO);
        }
        let reply = request.with(py, |checks, call, now| self.decide_shared(py, checks, call, now))?;
        request.complete(py, reply)
    }

    /// The engine's reply; an error where this limiter is closed, or the hub of this thread fails.
    #[inline(never)]
    fn decide_shared(&self, py: Python<'_>, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> PyResult<Reply> {
        let engine = self.opened();
        let engine = engine.as_deref().ok_or_else(closed)?;
        self.log_events(py);
        match Hub::current(py)? {
            Some(hub) => hub.decide(|sender| sender.begin(engine, checks, call, now)),
            None => Ok(signals::detached(py, || decide(engine, checks, call, now))),
        }
    }

    /// An `acquire` of this request, whose steps are still to be taken.
    pub(crate) fn start_acquire(&self, py: Python<'_>, request: &Request, max_wait: Duration) -> PyResult<Acquire> {
        let engine = self.opened();
        let engine = engine.as_deref().ok_or_else(closed)?;
        self.log_events(py);
        Ok(request.with(py, |checks, _, now| {
            let acquire = engine.start_acquire(checks, max_wait);
            let acquire = if request.call == Call::Limit { acquire.at_once() } else { acquire };
            if let Some(now) = now { acquire.at(now) } else { acquire }
        }))
    }

    /// Makes a rare call of the engine that may wait; a hub goes on meanwhile.
    pub(super) fn aside<T, E>(
        &self,
        py: Python<'_>,
        call: impl Fn(&tidegate::Limiter) -> Result<T, E> + Send + Sync + 'static,
    ) -> PyResult<T>
    where
        T: Send + 'static,
        E: Into<tidegate::Error> + Send + 'static,
    {
        let engine = self.kept()?;
        let done = if self.is_shared() {
            self.log_events(py);
            match Hub::current(py)? {
                Some(hub) => hub.aside(move || call(&engine))?,
                None => signals::detached(py, || call(&engine)),
            }
        } else {
            call(&engine)
        };
        done.map_err(|error| call_error(error.into()))
    }

    /// Starts the thread that logs events of the store, in a forked child too. No call fails because it cannot.
    pub(crate) fn log_events(&self, py: Python<'_>) {
        if self.is_shared()
            && let Err(error) = log_queue::ensure_started(py)
        {
            error.write_unraisable(py, None);
        }
    }
}

/// The usual call in memory. It is counted by the numbers of its answer, because one that a function may look at is moved
/// first: counts then cost 8 ns in place of 2.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the way of nearly every call")]
fn limit_here<'py>(py: Python<'py>, engine: &tidegate::Limiter, request: Request) -> PyResult<Bound<'py, PyAny>> {
    let Request { owner, call, checks, .. } = request;
    match checks.with(py, |checks| ffi::decide_uncounted(engine, checks)) {
        Ok(info) => {
            if ffi::is_counted(engine) {
                let (is_blocked, remaining, quota) = (info.blocked, info.remaining, info.quota);
                let limit = checks.enforced_one();
                if !limit.is_some_and(|limit| ffi::count_one(engine, limit, is_blocked, remaining, quota)) {
                    count(py, engine, &checks, info.clone());
                }
            }
            Ok(LimitInfo::object(py, Receipt::new(owner, call, checks), info)?.into_any())
        }
        Err(error) => Err(failed(py, engine, &checks, error)),
    }
}

#[cold]
#[inline(never)]
#[expect(clippy::needless_pass_by_value, reason = "so that this one alone is moved")]
fn count(py: Python<'_>, engine: &tidegate::Limiter, checks: &Checks, info: tidegate::LimitInfo) {
    checks.with(py, |checks| ffi::count_answer(engine, checks, Ok(&info)));
}

#[cold]
#[inline(never)]
fn failed(py: Python<'_>, engine: &tidegate::Limiter, checks: &Checks, error: tidegate::Error) -> PyErr {
    checks.with(py, |checks| ffi::count_answer(engine, checks, Err(&error)));
    call_error(error)
}

/// Takes in memory what a hold holds.
#[inline(always)]
#[expect(clippy::inline_always, reason = "an answer that is moved on the way out takes longer than a decision")]
pub(super) fn take_here(
    py: Python<'_>,
    limiter: &Limiter,
    engine: &tidegate::Limiter,
    taking: Taking,
) -> PyResult<LimitInfo> {
    let Taking { call, checks, now, .. } = taking;
    match checks.with(py, |checks| decide(engine, checks, call, now)) {
        Ok(info) => LimitInfo::of_answer(py, Receipt::new(limiter.owner, call, checks), info),
        Err(error) => Err(call_error(error)),
    }
}

#[inline]
fn decide(engine: &tidegate::Limiter, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Reply {
    match now {
        None => engine.decide_sync(checks, call),
        Some(now) => engine.decide_sync_at(checks, call, now),
    }
}
