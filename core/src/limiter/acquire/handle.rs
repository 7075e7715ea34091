//! An `acquire` on a thread of this library's own, for hosts that wait in their own way.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::{io, mem};

use tokio::task::AbortHandle;

use super::Acquire;
use crate::charge::Charge;
use crate::check::OwnedCheck;
use crate::error::{Error, StoreError};
use crate::failure::Failure;
use crate::fork::Process;
use crate::info::LimitInfo;
use crate::limiter::Limiter;
use crate::time::Micros;

/// A handle to an [`Acquire`] that goes on by itself: it is called off, or its answer is taken, whichever comes first.
///
/// Called off, it leaves the queue, and what it charged is given back once, wherever its answer is by then: not asked
/// for yet, on its way, or lying where no caller has taken it.
#[derive(Clone, Debug)]
pub struct AcquireHandle(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limiter: Limiter,
    checks: Vec<OwnedCheck>,
    now: Option<Micros>,
    stage: Mutex<Stage>,
    task: OnceLock<AbortHandle>,
    process: Process,
}

#[derive(Debug)]
enum Stage {
    /// It goes on.
    Waiting,
    /// The host has the answer, which named this charge; an error names none.
    Answered(Option<Charge>),
    /// The answer was taken.
    Taken,
    /// It was called off.
    Cancelled,
}

impl Acquire {
    /// Takes every step on a thread of this library's own, and hands `done` the answer and the handle; `done` must not
    /// block. It is not called after [`cancel`](AcquireHandle::cancel).
    ///
    /// # Errors
    /// When that thread cannot be started.
    pub fn spawn(
        self,
        done: impl FnOnce(Result<LimitInfo, Error>, AcquireHandle) + Send + 'static,
    ) -> io::Result<AcquireHandle> {
        let process = Process::current();
        let runtime = crate::store::remote::background(process)?;
        let handle = AcquireHandle(Arc::new(Shared {
            limiter: self.limiter.clone(),
            checks: self.checks.iter().map(|one| one.check.clone()).collect(),
            now: self.now,
            stage: Mutex::new(Stage::Waiting),
            task: OnceLock::new(),
            process,
        }));
        let owed = Owed { handle: handle.clone(), done: Some(done) };
        let task = runtime.spawn(async move {
            let mut owed = owed;
            owed.answer(self.finish().await);
        });
        let _ = handle.0.task.set(task.abort_handle());
        Ok(handle)
    }
}

/// A host that gets the answer of its `acquire` once, even if the task that makes it ends by a panic or with its
/// runtime.
struct Owed<F: FnOnce(Result<LimitInfo, Error>, AcquireHandle)> {
    handle: AcquireHandle,
    done: Option<F>,
}

impl<F: FnOnce(Result<LimitInfo, Error>, AcquireHandle)> Owed<F> {
    fn answer(&mut self, answer: Result<LimitInfo, Error>) {
        if let Some(done) = self.done.take()
            && self.handle.answered(&answer)
        {
            done(answer, self.handle.clone());
        }
    }
}

impl<F: FnOnce(Result<LimitInfo, Error>, AcquireHandle)> Drop for Owed<F> {
    fn drop(&mut self) {
        self.answer(Err(StoreError::new(Failure::Disconnected).into()));
    }
}

impl AcquireHandle {
    /// Calls it off; true if the host has had its answer before. Afterwards, and in a forked child, which has inherited
    /// a wait that is its parent's, this does nothing.
    #[expect(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn cancel(&self) -> bool {
        if self.0.process != Process::current() {
            return false;
        }
        let mut stage = self.stage();
        let before = match *stage {
            Stage::Waiting | Stage::Answered(_) => mem::replace(&mut *stage, Stage::Cancelled),
            Stage::Taken | Stage::Cancelled => return false,
        };
        drop(stage);
        match before {
            Stage::Waiting => {
                if let Some(task) = self.0.task.get() {
                    task.abort();
                }
                false
            }
            Stage::Answered(charge) => {
                self.give_back(charge);
                true
            }
            Stage::Taken | Stage::Cancelled => false,
        }
    }

    /// Takes the answer, so that what it charged stays charged; false if it was called off before.
    #[must_use]
    pub fn take(&self) -> bool {
        let mut stage = self.stage();
        let wanted = !matches!(*stage, Stage::Cancelled);
        if wanted {
            *stage = Stage::Taken;
        }
        wanted
    }

    /// The answer is here; true if it is still wanted.
    fn answered(&self, answer: &Result<LimitInfo, Error>) -> bool {
        let charge = answer.as_ref().ok().map(Charge::from);
        let mut stage = self.stage();
        let wanted = matches!(*stage, Stage::Waiting);
        if wanted {
            *stage = Stage::Answered(charge);
            return true;
        }
        drop(stage);
        self.give_back(charge);
        false
    }

    fn give_back(&self, charge: Option<Charge>) {
        if let Some(charge) = charge.filter(|charge| !charge.denied) {
            let checks = self.0.checks.iter().map(OwnedCheck::check).collect();
            self.0.limiter.give_back(checks, &charge, self.0.now);
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
