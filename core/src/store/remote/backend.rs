//! The traits that a remote store implements.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::health::Health;
use super::job::Job;
use super::key::{EntryName, Key, NamePart, NameParts};
use super::request::Request;
use super::scan::Scan;
use super::session::Session;
use crate::algorithm::Shape;
use crate::error::{LimitError, StoreError};
use crate::failure::Failure;
use crate::limit::Limit;
use crate::time::Micros;

/// An operation of a store that takes several steps.
pub type Work<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// A store that is asked over a network: how its entries are named, and how its servers are reached.
pub trait Backend: Send + Sync + 'static {
    /// The kind of the store in events and errors, such as `redis`.
    fn kind(&self) -> &'static str;

    /// The URL of the store, without what is secret.
    fn url(&self) -> String;

    /// The name of what it keeps: two stores with the same entries have the same one.
    fn identity(&self) -> String {
        self.url()
    }

    /// The servers of the store in events that are about all of them.
    fn servers(&self) -> String;

    /// Starts to connect, and returns the way to the servers. Called once for each runtime of a process, in the context
    /// of that runtime. Everything that it starts ends when the result is dropped.
    fn connect(&self, session: Session) -> Arc<dyn Servers>;

    /// Checks that the servers decide these requests, which use all rights that a bucket needs.
    fn ping(&self, session: Session, probes: [Request; 2]) -> Work<Health>;

    /// Removes every entry of a namespace; the result is the number of entries that were removed.
    fn clear(&self, session: Session, namespace: &str) -> Work<u64>;

    /// Looks for the keys of a namespace, among at most `budget` keys of the store; nothing where it cannot.
    fn scan(&self, session: Session, namespace: &str, budget: u64) -> Option<Work<Scan>> {
        let _ = (session, namespace, budget);
        None
    }

    /// The actor of a key, if it is one of this namespace and limit.
    fn actor(&self, namespace: &str, limit: &str, key: &Key) -> Option<NamePart> {
        let parts = NameParts::of_key(key)?;
        (parts.namespace.is(namespace) && parts.limit.is(limit)).then_some(parts.actor)
    }

    /// Reads what programs keep under a key of their own, such as a document of limits: at most so many bytes of it; nothing
    /// where there is no such key.
    fn value(&self, session: Session, key: &str, most: u64) -> Work<Option<Vec<u8>>> {
        let _ = (session, key, most);
        let kind = self.kind();
        Box::pin(async move { Err(StoreError::new(Failure::Other).because(format!("{kind} keeps no documents"))) })
    }

    /// Replaces what programs keep under a key of their own, if it is still this text; true if it was.
    fn replace(&self, session: Session, key: &str, before: &[u8], after: &[u8]) -> Work<bool> {
        let _ = (session, key, before, after);
        let kind = self.kind();
        Box::pin(async move { Err(StoreError::new(Failure::Other).because(format!("{kind} keeps no documents"))) })
    }

    /// The name of an entry.
    fn key(&self, name: EntryName<'_>) -> Key {
        name.to_key()
    }

    /// The shapes of entries that it can keep.
    fn shapes(&self) -> &[Shape] {
        &Shape::ALL
    }

    /// True if it can keep the blocks that stand beside entries.
    fn keeps_blocks(&self) -> bool {
        true
    }

    /// True if different entries may have the same name.
    fn names_may_coincide(&self) -> bool {
        false
    }

    /// The unit of the instants that it keeps, in microseconds.
    fn resolution(&self) -> Micros {
        1
    }

    /// Refuses a limit that it cannot keep.
    ///
    /// # Errors
    /// Names the key, the field and the value at fault.
    fn admits(&self, limit: &Limit) -> Result<(), LimitError> {
        let _ = limit;
        Ok(())
    }
}

/// The servers of a store, as one runtime of a process reaches them.
pub trait Servers: Send + Sync {
    /// Takes over a job, or says at once why not. The job has to be finished by its deadline; [`Job::expire`] does that
    /// where nothing else does.
    ///
    /// # Errors
    /// The reason for which no server is asked.
    fn send(self: Arc<Self>, job: Arc<Job>) -> Result<(), Failure>;

    /// True while the circuit breaker of a server is open.
    fn is_open(&self) -> bool;

    /// True while no request would be sent to any server.
    fn is_unavailable(&self) -> bool {
        self.is_open()
    }

    /// True once it can send nothing any more and has to be made anew, as it is after the end of its runtime.
    fn is_dead(&self) -> bool {
        false
    }
}
