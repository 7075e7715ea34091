//! Operations for operators and tests: health checks, and clearing a store.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use tokio::sync::oneshot;

use super::{Limiter, Store};
use crate::Error;
use crate::error::StoreError;
use crate::failure::Failure;
use crate::interrupt;
use crate::limit::Limit;
use crate::store::redis::{Decision, Health, Upkeep, encode};

impl Limiter {
    /// Has the store decide once, past everything that spares it, and says how fit it is: for the start of a program
    /// and for health checks. In memory there is nothing that could be wrong.
    ///
    /// It tries what a bucket needs: the connection, the user's rights, scripts, replicas where some are waited for. In
    /// a cluster every primary is asked. It takes as long as connecting may, half a second at the least.
    ///
    /// ```
    /// use tidegate::{Limiter, Memory};
    ///
    /// let health = Limiter::new(Memory::new()).ping_sync()?;
    /// assert!(health.warnings.is_empty());
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError`](crate::StoreError) where the store would not decide calls, whatever the limiter does about that;
    /// it says in words what is wrong.
    pub async fn ping(&self) -> Result<Health, Error> {
        let (answered, answer) = oneshot::channel();
        self.start_ping(move |health| drop(answered.send(health)));
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    /// [`ping`](Self::ping), for which this thread waits.
    ///
    /// # Errors
    /// As [`ping`](Self::ping).
    pub fn ping_sync(&self) -> Result<Health, Error> {
        let (answered, answer) = sync_channel(1);
        self.start_ping(move |health| drop(answered.send(health)));
        wait(&answer)
    }

    /// [`ping`](Self::ping), of which `done` is told: on this thread where there is nothing to wait for.
    pub fn start_ping(&self, done: impl FnOnce(Result<Health, Error>) + Send + 'static) {
        match &self.store {
            Store::Local(_) => done(Ok(Health::default())),
            Store::Remote(remote) => remote.start_ping(done),
        }
    }

    /// Removes every entry of this limiter's namespace, whoever made it, and says how many keys there were: for tests
    /// and operators. In memory it removes every entry of the store.
    ///
    /// A server is asked in steps (`SCAN` and `UNLINK`, which its user must be allowed), every primary of a cluster
    /// likewise, so it takes longer the more keys there are, of others too. Calls meanwhile are decided; what they
    /// charge may remain. In the [`Sharkey`](crate::Layout::Sharkey) layout it takes the entries of Sharkey's own nodes
    /// along.
    ///
    /// # Errors
    /// [`StoreError`](crate::StoreError) where the store cannot be reached or does not allow it; some entries may be
    /// gone then.
    pub async fn clear(&self) -> Result<u64, Error> {
        let (answered, answer) = oneshot::channel();
        self.start_clear(move |removed| drop(answered.send(removed)));
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    /// [`clear`](Self::clear), for which this thread waits. One that the host interrupts goes on at the server.
    ///
    /// # Errors
    /// As [`clear`](Self::clear).
    pub fn clear_sync(&self) -> Result<u64, Error> {
        let (answered, answer) = sync_channel(1);
        self.start_clear(move |removed| drop(answered.send(removed)));
        wait(&answer)
    }

    /// [`clear`](Self::clear), of which `done` is told: on this thread where there is nothing to wait for.
    pub fn start_clear(&self, done: impl FnOnce(Result<u64, Error>) + Send + 'static) {
        match &self.store {
            Store::Local(local) => done(Ok(local.memory.clear())),
            Store::Fleet(fleet) => fleet.start_clear(done),
        }
    }
}

impl Limiter {
    /// The command that `limit` sends for this check, but for its deadline: a benchmark sends it by other means.
    #[doc(hidden)]
    #[must_use]
    pub fn bare_command(&self, check: Check<'_>) -> Option<Vec<Vec<u8>>> {
        let Store::Fleet(fleet) = &self.store else { return None };
        let (_, decision) = fleet.prepare(&[check], Verb::Limit, None, None).ok()?;
        let command = encode([(&decision, 0)]).command(false);
        let words = command.args_iter().filter_map(|word| match word {
            ::redis::Arg::Simple(bytes) => Some(bytes.to_vec()),
            _ => None,
        });
        Some(words.collect())
    }
}

impl Fleet {
    fn start_ping(&self, done: impl FnOnce(Result<Health, Error>) + Send + 'static) {
        let probes = self.probes();
        self.work(done, async move |upkeep: Upkeep, _| upkeep.ping(&probes?).await.map_err(Error::from));
    }

    /// A charge, and what undoes it.
    fn probes(&self) -> Result<[Decision; 2], Error> {
        let limit = Limit::bucket("probe", 1).build()?;
        let (_, charge) = self.prepare(&[Check::new(&limit, "")], Verb::Charge, None, None)?;
        Ok([charge, self.settings().probe()])
    }

    fn start_clear(&self, done: impl FnOnce(Result<u64, Error>) + Send + 'static) {
        let here = self.here();
        self.work(done, async move |upkeep: Upkeep, namespace: Arc<str>| {
            let removed = upkeep.clear(&namespace).await.map_err(Error::from);
            let _ = here.fallback.clear();
            here.denials.clear();
            removed
        });
    }

    /// Works on the process's own runtime: a caller's need not be one that can.
    fn work<T: 'static, W>(
        &self,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
        work: impl FnOnce(Upkeep, Arc<str>) -> W + Send + 'static,
    ) where
        W: Future<Output = Result<T, Error>> + Send + 'static,
    {
        match self.upkeep() {
            Ok((upkeep, runtime)) => {
                let work = work(upkeep, self.namespace_name());
                let mut owed = Owed(Some(done), PhantomData);
                drop(runtime.spawn(async move {
                    crate::panics::point("upkeep");
                    owed.answer(work.await);
                }));
            }
            Err(error) => {
                let cause = Some(format!("no thread to ask it on: {error}"));
                done(Err(StoreError::new(Failure::Unreachable, "", cause).into()));
            }
        }
    }
}

/// A host that is answered once, even if the task that works for it ends by a panic or with its runtime.
struct Owed<T, F: FnOnce(Result<T, Error>)>(Option<F>, PhantomData<fn(T)>);

impl<T, F: FnOnce(Result<T, Error>)> Owed<T, F> {
    fn answer(&mut self, answer: Result<T, Error>) {
        if let Some(done) = self.0.take() {
            done(answer);
        }
    }
}

impl<T, F: FnOnce(Result<T, Error>)> Drop for Owed<T, F> {
    fn drop(&mut self) {
        self.answer(Err(ended()));
    }
}

/// Waits for as long as it takes, and as the host goes on.
fn wait<T>(answer: &Receiver<Result<T, Error>>) -> Result<T, Error> {
    let Some(go_on) = interrupt::asked_while_waiting() else { return answer.recv().unwrap_or_else(|_| Err(ended())) };
    loop {
        match answer.recv_timeout(interrupt::SLICE) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Disconnected) => return Err(ended()),
            Err(RecvTimeoutError::Timeout) if go_on() => {}
            Err(RecvTimeoutError::Timeout) => return Err(Error::Interrupted),
        }
    }
}

/// The process's runtime has ended.
fn ended() -> Error {
    StoreError::new(Failure::Disconnected).into()
}
