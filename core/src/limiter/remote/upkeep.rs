//! Operations for operators and tests on a remote store.

use super::Remote;
use crate::Error;
use crate::check::Check;
use crate::decision::Verb;
use crate::error::StoreError;
use crate::failure::Failure;
use crate::limit::Limit;
use crate::limiter::upkeep::Owed;
use crate::store::remote::{Health, Key, NamePart, Request, Scan, Session, Work};

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

    /// Looks for the keys of this namespace; false where the store cannot.
    pub(crate) fn start_scan(&self, budget: u64, done: impl FnOnce(Result<Scan, Error>) + Send + 'static) -> bool {
        let mut can = true;
        self.work(
            |session| {
                let work = self.store.backend.scan(session, &self.name, budget);
                can = work.is_some();
                work.unwrap_or_else(|| Box::pin(async { Ok(Scan::default()) }))
            },
            done,
        );
        can
    }

    /// The actor of a key, if it is one of this namespace and limit.
    pub(crate) fn actor_of(&self, limit: &Limit, key: &Key) -> Option<NamePart> {
        self.store.backend.actor(&self.name, limit.key(), key)
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

    #[cfg(feature = "cli")]
    pub(crate) fn start_replace(
        &self,
        key: &str,
        before: &[u8],
        after: &[u8],
        done: impl FnOnce(Result<bool, Error>) + Send + 'static,
    ) {
        self.work(|session| self.store.backend.replace(session, key, before, after), done);
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
