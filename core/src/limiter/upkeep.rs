//! Operations for operators and tests: health checks, and clearing a store.

use std::marker::PhantomData;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use tokio::sync::oneshot;

use super::{Limiter, Store};
use crate::Error;
use crate::error::StoreError;
use crate::failure::Failure;
use crate::interrupt;
use crate::store::remote::Health;

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

    /// [`ping`](Self::ping), with whose result `done` is called: on this thread where there is nothing to wait for.
    pub fn start_ping(&self, done: impl FnOnce(Result<Health, Error>) + Send + 'static) {
        match &self.store {
            Store::Local(_) => done(Ok(Health::default())),
            Store::Remote(remote) => remote.start_ping(done),
        }
    }

    /// Removes every entry of this limiter's namespace, of all processes, and says how many keys there were: for tests
    /// and operators. In memory it removes every entry of the store.
    ///
    /// A server is asked in steps (`SCAN` and `UNLINK`, which its user must be allowed), every primary of a cluster
    /// likewise, so it takes longer the more keys there are, of others too. Calls meanwhile are decided; what they
    /// charge may remain. In the [`Sharkey`](crate::redis::Layout::Sharkey) layout it takes the entries of Sharkey's own
    /// nodes along.
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

    /// [`clear`](Self::clear), with whose result `done` is called: on this thread where there is nothing to wait for.
    pub fn start_clear(&self, done: impl FnOnce(Result<u64, Error>) + Send + 'static) {
        match &self.store {
            Store::Local(local) => done(Ok(local.memory.clear())),
            Store::Remote(remote) => remote.start_clear(done),
        }
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
