//! The entry point: from checks to an answer.

#![cfg_attr(
    not(feature = "remote"),
    allow(clippy::unused_async, reason = "the public calls are futures for the sake of stores that do I/O")
)]

mod acquire;
mod any_store;
mod bell;
mod beside_block;
mod calls;
mod checks;
#[cfg(feature = "remote")]
mod closest;
mod common;
mod counting;
#[cfg(feature = "redis")]
pub(crate) mod document;
mod identity;
mod line;
mod memory;
#[cfg(feature = "remote")]
mod meter;
mod metering;
#[cfg(feature = "remote")]
mod metrics;
#[cfg(feature = "redis")]
mod open;
pub(crate) mod queue;
#[cfg(feature = "remote")]
mod remote;
mod several;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod shared;
#[cfg(feature = "remote")]
mod upkeep;

use std::sync::Arc;

#[cfg(feature = "remote")]
pub use self::acquire::AcquireHandle;
pub use self::acquire::{Acquire, Step};
pub use self::any_store::AnyStore;
use self::any_store::Store;
pub use self::bell::Bell;
use self::checks::check_now;
#[cfg(feature = "remote")]
pub(crate) use self::closest::Closest;
use self::common::Common;
use self::memory::Local;
use self::metering::Metering;
#[cfg(feature = "remote")]
pub use self::metrics::{Histogram, Metric, MetricKind, Sample, Top, TopActor};
#[cfg(feature = "redis")]
pub use self::open::Opened;
use self::queue::{Permit, WaitQueue};
#[cfg(feature = "remote")]
pub use self::remote::UnsentCall;
use crate::Error;
use crate::charge::Charge;
use crate::check::Check;
use crate::decision::{Call, Verb};
use crate::fingerprint::Fingerprint;
use crate::info::LimitInfo;
use crate::inline_vec::InlineVec;
use crate::limit::Limit;
use crate::store::memory::Memory;
use crate::time::Micros;

/// Decides calls against limits, and keeps their entries in its store.
///
/// Cheap to clone; clones share the store. Every call comes as a future and as a `_sync` method. In memory a decision
/// never waits, so both do the same at the same cost. Over a shared store the `_sync` method blocks its thread, for at
/// most the store's timeout; the future blocks no thread.
///
/// ```
/// use tidegate::{Limit, Limiter, Memory};
///
/// let limiter = Limiter::new(Memory::new());
/// let login = Limit::bucket("login", 2).build()?;
///
/// let admitted = (0..3).filter(|_| limiter.limit_sync(&login, "ada").is_ok_and(|info| !info.blocked)).count();
/// assert_eq!(admitted, 2);
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limiter {
    store: Store,
    common: Arc<Common>,
    /// The most calls that wait at the same time.
    max_waiters: usize,
    /// Counts by limit and by actor, from the first time that they are asked for.
    meter: Metering,
}

/// A call that releases units.
struct Releasing {
    common: Arc<Common>,
    entries: InlineVec<Fingerprint>,
}

impl Drop for Releasing {
    fn drop(&mut self) {
        self.common.queue.released(self.entries.iter().copied());
    }
}

/// The same at the end of a call that is decided while its caller waits.
struct Released<'a>(&'a Limiter, &'a [Check<'a>], Call);

impl Drop for Released<'_> {
    #[inline]
    fn drop(&mut self) {
        let wakes = Verb::from(self.2).gives_back() && self.0.common.queue.has_bells();
        drop(wakes.then(|| self.0.releasing_held(self.1)));
    }
}

/// The most calls that wait, unless [`Limiter::max_waiters`] says otherwise.
const MAX_WAITERS: usize = 10_000;

impl Limiter {
    /// A limiter over this store, in the namespace `tidegate` unless the store says another.
    #[must_use]
    pub fn new(store: impl Into<AnyStore>) -> Self {
        Self { store: store.into().0, common: Arc::default(), max_waiters: MAX_WAITERS, meter: Metering::default() }
    }

    /// A limiter over the same store in another namespace, which shares no entries with this one.
    ///
    /// ```
    /// use tidegate::{Limit, Limiter, Memory};
    ///
    /// let (limiter, door) = (Limiter::new(Memory::new()), Limit::bucket("door", 1).build()?);
    /// limiter.limit_sync(&door, "ada")?;
    /// assert!(limiter.namespace("another shop").limit_sync(&door, "ada")?.allowed());
    /// assert!(limiter.limit_sync(&door, "ada")?.blocked);
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    #[must_use]
    pub fn namespace(&self, namespace: &str) -> Self {
        let store = match &self.store {
            Store::Local(local) => {
                Store::Local(Local { namespace: Fingerprint::of_namespace(namespace), ..local.clone() })
            }
            #[cfg(feature = "remote")]
            Store::Remote(remote) => Store::Remote(remote.namespace(namespace)),
            #[cfg(all(feature = "shm", target_os = "linux"))]
            Store::Shared(shared) => Store::Shared(shared.namespace(namespace)),
        };
        Self { store, ..self.clone() }
    }

    /// The most `acquire`s that wait at the same time in this process, 10,000 by default. Further ones are answered as if
    /// they could not wait: without it, a flood of calls would fill the memory with calls that wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::acquire::Step;
    /// use tidegate::{Check, Limit, Limiter, Memory};
    ///
    /// let limiter = Limiter::new(Memory::new()).max_waiters(1);
    /// let door = Limit::bucket("door", 1).build()?;
    /// limiter.limit_sync(&door, "ada")?;
    /// let checks = [Check::new(&door, "ada")];
    /// let mut first = limiter.start_acquire(&checks, Duration::from_secs(60));
    /// assert!(matches!(first.step()?, Step::Wait(_)));
    /// let mut second = limiter.start_acquire(&checks, Duration::from_secs(60));
    /// assert!(matches!(second.step()?, Step::Done(info) if info.blocked));
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    #[must_use]
    pub fn max_waiters(mut self, most: usize) -> Self {
        self.max_waiters = most;
        self
    }

    /// The memory store of this limiter; over a shared store, the one that decides while the shared one cannot.
    #[must_use]
    pub fn memory(&self) -> Arc<Memory> {
        match &self.store {
            Store::Local(local) => local.memory.clone(),
            #[cfg(feature = "remote")]
            Store::Remote(remote) => remote.fallback(),
            #[cfg(all(feature = "shm", target_os = "linux"))]
            Store::Shared(shared) => shared.fallback(),
        }
    }

    /// The file of a store in memory that processes share.
    #[must_use]
    #[cfg(all(feature = "shm", target_os = "linux"))]
    pub fn shared_file(&self) -> Option<&std::path::Path> {
        if let Store::Shared(shared) = &self.store { Some(shared.file()) } else { None }
    }

    #[cfg(all(test, feature = "shm", target_os = "linux"))]
    pub(crate) fn shared_table(&self) -> Option<&crate::store::shared::Table> {
        if let Store::Shared(shared) = &self.store { Some(shared.table()) } else { None }
    }

    /// Walks over the whole table of a store in memory that processes share, and names what is wrong in it: for tests.
    #[cfg(all(feature = "shm", target_os = "linux"))]
    pub(crate) fn check_shared(&self) -> Result<Vec<String>, Error> {
        if let Store::Shared(shared) = &self.store { shared.check() } else { Ok(Vec::new()) }
    }

    /// True if its store is shared with other processes. Of these stores, only memory that processes share decides on the
    /// thread that asks.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        !matches!(self.store, Store::Local(_))
    }

    /// True if its store is asked over a network: a call may then be given up before it is answered.
    #[cfg(feature = "remote")]
    pub(crate) const fn is_remote(&self) -> bool {
        matches!(self.store, Store::Remote(_))
    }

    /// Decides several checks together, all or nothing.
    ///
    /// # Errors
    /// [`LimitError`](crate::LimitError) for an actor, a cost or a factor out of bounds; nothing is charged then. A
    /// shared store fails as in [`limit_sync`](Self::limit_sync).
    #[inline]
    pub fn decide_sync(&self, checks: &[Check<'_>], call: Call) -> Result<LimitInfo, Error> {
        self.decide_on(checks, call, None)
    }

    /// [`decide_sync`](Self::decide_sync) at an instant that the caller gives, for replays, simulations and tests.
    ///
    /// ```
    /// use tidegate::{Call, Check, Limit, Limiter, Memory};
    ///
    /// let (limiter, door) = (Limiter::new(Memory::new()), Limit::bucket("door", 1).build()?);
    /// let check = [Check::new(&door, "ada")];
    /// assert!(limiter.decide_sync_at(&check, Call::Limit, 0)?.allowed());
    /// assert_eq!(limiter.decide_sync_at(&check, Call::Limit, 400_000)?.reset_ms, 600);
    /// assert!(limiter.decide_sync_at(&check, Call::Limit, 1_000_000)?.allowed());
    /// # Ok::<(), tidegate::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decide_sync`](Self::decide_sync).
    pub fn decide_sync_at(&self, checks: &[Check<'_>], call: Call, now: Micros) -> Result<LimitInfo, Error> {
        self.decide_here(checks, call, Some(now))
    }

    /// [`decide_sync`](Self::decide_sync) as a future.
    ///
    /// # Errors
    /// As [`decide_sync`](Self::decide_sync).
    pub async fn decide(&self, checks: &[Check<'_>], call: Call) -> Result<LimitInfo, Error> {
        self.decide_later(checks, call, None).await
    }

    /// [`decide_sync_at`](Self::decide_sync_at) as a future.
    ///
    /// # Errors
    /// As [`decide_sync_at`](Self::decide_sync_at).
    pub async fn decide_at(&self, checks: &[Check<'_>], call: Call, now: Micros) -> Result<LimitInfo, Error> {
        check_now(checks, now)?;
        self.decide_later(checks, call, Some(now)).await
    }

    async fn decide_later(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        let answer = self.decide_later_uncounted(checks, call, now).await;
        self.count(checks, call, answer.as_ref());
        answer
    }

    async fn decide_later_uncounted(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        let _released = self.releasing(checks, call);
        match &self.store {
            Store::Local(local) => local.decide_on(checks, call, now),
            #[cfg(feature = "remote")]
            Store::Remote(remote) => remote.decide(checks, call, now).await,
            #[cfg(all(feature = "shm", target_os = "linux"))]
            Store::Shared(shared) => shared.decide_on(checks, call, now),
        }
    }

    /// See `ffi::start`.
    pub(crate) fn start(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
        done: impl FnOnce(Result<LimitInfo, Error>) -> Result<(), Result<LimitInfo, Error>> + Send + 'static,
    ) -> Option<Result<LimitInfo, Error>> {
        #[cfg(feature = "remote")]
        let known = self.prepare(checks, call, now, done).map_err(UnsentCall::send).ok();
        #[cfg(not(feature = "remote"))]
        let known = {
            drop(done);
            Some(self.decide_here(checks, call, now))
        };
        known
    }

    /// See `ffi::hold`.
    #[cfg(feature = "remote")]
    pub(crate) fn prepare(
        &self,
        checks: &[Check<'_>],
        call: Call,
        now: Option<Micros>,
        done: impl FnOnce(Result<LimitInfo, Error>) -> Result<(), Result<LimitInfo, Error>> + Send + 'static,
    ) -> Result<Result<LimitInfo, Error>, UnsentCall> {
        let Store::Remote(remote) = &self.store else { return Ok(self.decide_here(checks, call, now)) };
        let released = self.releasing(checks, call);
        let underway = self.underway(checks, call);
        let done = move |answer| {
            drop(released);
            if let Some(underway) = &underway {
                underway.ended(&answer);
            }
            done(answer)
        };
        match now.map_or(Ok(()), |now| check_now(checks, now)) {
            Ok(()) => remote.hold(checks, call, now, done).inspect(|answer| self.count(checks, call, answer.as_ref())),
            Err(error) => Ok(Err(error.into())),
        }
    }

    fn decide_here(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        now.map_or(Ok(()), |now| check_now(checks, now))?;
        self.decide_on(checks, call, now)
    }

    /// Any call but those that [`limit_uncounted`](Self::limit_uncounted) knows.
    #[inline]
    fn decide_uncounted(&self, checks: &[Check<'_>], call: Call, now: Option<Micros>) -> Result<LimitInfo, Error> {
        let _released = Released(self, checks, call);
        match &self.store {
            Store::Local(local) => local.decide_rest(checks, call, now),
            #[cfg(feature = "remote")]
            Store::Remote(remote) => remote.decide_sync(checks, call, now),
            #[cfg(all(feature = "shm", target_os = "linux"))]
            Store::Shared(shared) => shared.decide_any(checks, call, now),
        }
    }

    /// Gives back what an `acquire` of these checks charged, as its receipt does, without waiting for it.
    pub(crate) fn give_back(&self, mut checks: Vec<Check<'_>>, charge: &Charge, now: Option<Micros>) {
        let call = charge.refund(!charge.denied, &mut checks);
        // Where this fails, no caller is left for an error, and what was charged drains.
        drop(self.start(&checks, call, now, |_| Ok(())));
    }

    /// Wakes the calls that wait for units of these checks, when it is dropped; nothing where the call releases none.
    #[inline]
    fn releasing(&self, checks: &[Check<'_>], call: Call) -> Option<Releasing> {
        if Verb::from(call).gives_back() { self.releasing_held(checks) } else { None }
    }

    #[inline(never)]
    fn releasing_held(&self, checks: &[Check<'_>]) -> Option<Releasing> {
        let held = checks.iter().filter(|check| check.holds());
        let entries: InlineVec<_> = held.map(|check| self.fingerprint(check.limit, check.actor)).collect();
        (!entries.is_empty()).then(|| Releasing { common: self.common.clone(), entries })
    }

    pub(crate) fn queue(&self) -> &WaitQueue {
        &self.common.queue
    }

    /// A permit to wait, if there is one left.
    pub(crate) fn enter(&self) -> Option<Permit> {
        self.common.queue.enter(self.max_waiters)
    }

    #[inline]
    pub(crate) fn fingerprint(&self, limit: &Limit, actor: &str) -> Fingerprint {
        match &self.store {
            Store::Local(local) => local.fingerprint(limit, actor),
            #[cfg(feature = "remote")]
            Store::Remote(remote) => remote.fingerprint(limit, actor),
            #[cfg(all(feature = "shm", target_os = "linux"))]
            Store::Shared(shared) => shared.fingerprint(limit, actor),
        }
    }
}
