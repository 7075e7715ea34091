//! Operations for operators and tests: statistics, health checks, and clearing a store.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use tokio::sync::oneshot;

use super::{Limiter, Store};
use crate::Error;
use crate::error::StoreError;
use crate::failure::Failure;
use crate::interrupt;
use crate::store::remote::{Health, Statistics};

impl Limiter {
    /// The statistics of its store in this process, in all namespaces. In memory there are only the numbers of calls:
    /// no server is asked, and no time is measured.
    ///
    /// ```
    /// use tidegate::{Limit, Limiter, Memory};
    ///
    /// let (limiter, login) = (Limiter::new(Memory::new()), Limit::bucket("login", 2).build()?);
    /// for _ in 0..3 {
    ///     limiter.limit_sync(&login, "ada")?;
    /// }
    /// let stats = limiter.stats();
    /// assert_eq!((stats.decisions, stats.admitted, stats.blocked), (3, 2, 1));
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Statistics {
        match &self.store {
            Store::Local(local) => {
                let memory = &local.memory;
                let (entries, evictions, overflowed) = (memory.len() as u64, memory.evictions(), memory.overflowed());
                Statistics { entries, evictions, overflowed, ..Statistics::of_calls(memory.counted()) }
            }
            Store::Remote(remote) => remote.stats(),
            #[cfg(all(feature = "shm", target_os = "linux"))]
            Store::Shared(shared) => shared.stats(),
        }
    }

    /// Checks the health of the store with one decision, for the start of a program and for health checks. It bypasses
    /// the deny cache and the circuit breaker. In memory it always succeeds. In memory that processes share it
    /// fails where one of them has stopped in the middle of a decision, or where the file was removed.
    ///
    /// It tests what a bucket needs: the connection, the user's rights, scripts, and replicas if charges wait for them.
    /// In a cluster it tests every primary. It may take as long as connecting may, which is at least half a second.
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
    /// [`StoreError`](crate::StoreError) with the reason where the store would not decide calls, whatever the fallback
    /// policy is.
    pub async fn ping(&self) -> Result<Health, Error> {
        let (answered, answer) = oneshot::channel();
        self.start_ping(move |health| drop(answered.send(health)));
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    /// [`ping`](Self::ping) that blocks this thread.
    ///
    /// # Errors
    /// As [`ping`](Self::ping).
    pub fn ping_sync(&self) -> Result<Health, Error> {
        let (answered, answer) = sync_channel(1);
        self.start_ping(move |health| drop(answered.send(health)));
        wait(&answer)
    }

    /// [`ping`](Self::ping) that calls `done` with its result; in memory at once, on this thread.
    pub fn start_ping(&self, done: impl FnOnce(Result<Health, Error>) + Send + 'static) {
        match &self.store {
            Store::Local(_) => done(Ok(Health::default())),
            Store::Remote(remote) => remote.start_ping(done),
            #[cfg(all(feature = "shm", target_os = "linux"))]
            Store::Shared(shared) => done(shared.ping()),
        }
    }

    /// Removes every entry of this limiter's namespace, of all processes, and returns the number of keys: for tests and
    /// operators. In memory it removes every entry of the store, and so it does in memory that processes
    /// share.
    ///
    /// It scans all keys of the server, or of every primary of a cluster, with `SCAN` and `UNLINK`, which the user must
    /// be allowed. The more keys there are, of other programs too, the longer it takes. Calls meanwhile are decided,
    /// and their charges may remain. In the [`Sharkey`](crate::redis::Layout::Sharkey) layout it also removes the
    /// entries of Sharkey's own nodes.
    ///
    /// # Errors
    /// [`StoreError`](crate::StoreError) where the store cannot be reached or does not allow it; some entries may be
    /// gone then.
    pub async fn clear(&self) -> Result<u64, Error> {
        let (answered, answer) = oneshot::channel();
        self.start_clear(move |removed| drop(answered.send(removed)));
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    /// [`clear`](Self::clear) that blocks this thread. An interrupt ends the wait, not the work at the server.
    ///
    /// # Errors
    /// As [`clear`](Self::clear).
    pub fn clear_sync(&self) -> Result<u64, Error> {
        let (answered, answer) = sync_channel(1);
        self.start_clear(move |removed| drop(answered.send(removed)));
        wait(&answer)
    }

    /// [`clear`](Self::clear) that calls `done` with its result; in memory at once, on this thread.
    pub fn start_clear(&self, done: impl FnOnce(Result<u64, Error>) + Send + 'static) {
        let common = Arc::clone(&self.common);
        let done = move |removed| {
            common.queue.all_released();
            done(removed);
        };
        match &self.store {
            Store::Local(local) => done(Ok(local.memory.clear())),
            Store::Remote(remote) => remote.start_clear(done),
            #[cfg(all(feature = "shm", target_os = "linux"))]
            Store::Shared(shared) => done(shared.clear()),
        }
    }

    /// The text that a program keeps at the store's server under a key of its own, at most so many bytes; blocks this
    /// thread.
    #[cfg(feature = "redis")]
    pub(super) fn value_sync(&self, key: &str, most: u64) -> Result<Option<Vec<u8>>, Error> {
        let Store::Remote(remote) = &self.store else { return Ok(None) };
        let (answered, answer) = sync_channel(1);
        remote.start_value(key, most, move |value| drop(answered.send(value)));
        wait(&answer)
    }

    /// Replaces that text, if it is still this one; blocks this thread.
    #[cfg(feature = "cli")]
    pub(super) fn replace_sync(&self, key: &str, before: &[u8], after: &[u8]) -> Result<bool, Error> {
        let Store::Remote(remote) = &self.store else { return Ok(false) };
        let (answered, answer) = sync_channel(1);
        remote.start_replace(key, before, after, move |replaced| drop(answered.send(replaced)));
        wait(&answer)
    }
}

/// A host that is answered once, even if the task that works for it ends by a panic or with its runtime.
pub(super) struct Owed<T, F: FnOnce(Result<T, Error>)>(Option<F>, PhantomData<fn(T)>);

impl<T, F: FnOnce(Result<T, Error>)> Owed<T, F> {
    pub(super) fn new(done: F) -> Self {
        Self(Some(done), PhantomData)
    }

    pub(super) fn answer(&mut self, answer: Result<T, Error>) {
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
pub(super) fn wait<T>(answer: &Receiver<Result<T, Error>>) -> Result<T, Error> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_owed_an_answer_has_one_whatever_becomes_of_the_task() {
        let (answered, answers) = sync_channel(4);
        let tell = |answered: &std::sync::mpsc::SyncSender<_>| {
            let answered = answered.clone();
            Owed::new(move |answer: Result<u64, Error>| {
                let _ = answered.send(answer.ok());
            })
        };
        let mut owed = tell(&answered);
        owed.answer(Ok(3));
        owed.answer(Ok(4));
        drop(owed);
        drop(tell(&answered));
        drop(answered);
        assert_eq!(answers.iter().collect::<Vec<_>>(), [Some(3), None], "each once");
    }
}
