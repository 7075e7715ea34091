//! Operations for operators and tests on a remote store.

use super::Remote;
use crate::Error;
use crate::check::Check;
use crate::decision::Verb;
use crate::error::StoreError;
use crate::failure::Failure;
use crate::limit::Limit;
use crate::limiter::upkeep::Owed;
use crate::store::remote::{Health, Request, Session, Work};

impl Remote {
    pub(crate) fn start_ping(&self, done: impl FnOnce(Result<Health, Error>) + Send + 'static) {
        match self.probes() {
            Ok(probes) => self.work(|session| self.store.backend.ping(session, probes), done),
            Err(error) => done(Err(error)),
        }
    }

    /// A charge, and the reset of an entry.
    fn probes(&self) -> Result<[Request; 2], Error> {
        let limit = Limit::bucket("probe", 1).build()?;
        let (_, charge) = self.prepare(&[Check::new(&limit, "")], Verb::Charge, None, None)?;
        Ok([*charge, self.store.probe()])
    }

    pub(crate) fn start_clear(&self, done: impl FnOnce(Result<u64, Error>) + Send + 'static) {
        let state = arc_swap::Guard::into_inner(self.store.state());
        let done = move |removed| {
            let _ = state.fallback.clear();
            state.clear_denials();
            done(removed);
        };
        self.work(|session| self.store.backend.clear(session, &self.name), done);
    }

    #[cfg(feature = "redis")]
    pub(crate) fn start_value(
        &self,
        key: &str,
        most: u64,
        done: impl FnOnce(Result<Option<Vec<u8>>, Error>) + Send + 'static,
    ) {
        self.work(|session| self.store.backend.value(session, key, most), done);
    }

    /// Works on the process's own runtime: a caller's need not be one that can.
    fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(Session) -> Work<T>,
        done: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) {
        match self.store.session() {
            Ok((session, runtime)) => {
                let work = work(session);
                let mut owed = Owed::new(done);
                drop(runtime.spawn(async move {
                    crate::panics::point("upkeep");
                    owed.answer(work.await.map_err(Error::from));
                }));
            }
            Err(error) => {
                let cause = format!("no thread to ask it on: {error}");
                done(Err(StoreError::new(Failure::Unreachable).because(cause).into()));
            }
        }
    }
}
