//! Units of limits of type concurrency that are held for as long as some work goes on.

mod costs;
#[cfg(feature = "remote")]
mod error;
#[cfg(feature = "remote")]
mod lease;
pub(crate) mod term;

#[cfg(feature = "remote")]
use std::sync::Arc;
#[cfg(feature = "remote")]
use std::time::Duration;

pub use self::costs::Costs;
pub(crate) use self::costs::spent_of_hold;
#[cfg(feature = "remote")]
pub use self::error::HoldError;
#[cfg(feature = "remote")]
pub(crate) use self::lease::Lease;
#[cfg(feature = "remote")]
use crate::{
    charge::{may_hold, shortest_lease},
    check::Check,
    clock,
    decision::Call,
    error::{Error, LimitError},
    info::LimitInfo,
    limit::Limit,
    limiter::{Acquire, Limiter},
    time::Micros,
};

/// Units that are held: renewed every third of the shortest lease, until they are released or this is dropped.
///
/// One task renews all holds of a process, on a thread of the library's own. Dropping a hold releases its units: in
/// memory at once, over a shared store without waiting for it.
///
/// ```
/// use std::time::Duration;
/// use tidegate::{Limit, Limiter, Memory};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let limiter = Limiter::new(Memory::new());
/// let exports = Limit::concurrency("exports", 3, Duration::from_secs(60)).build()?;
///
/// let held = limiter.hold(&exports, "ada", Duration::from_secs(5)).await?;
/// let work = async { "rows" };
/// let done = tokio::select! {
///     rows = work => Some(rows),
///     () = held.lost() => None, // others may have the place: stop the work
/// };
/// assert_eq!(held.release().await?.remaining, 3);
/// assert_eq!(done, Some("rows"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "its units are released when it is dropped"]
#[cfg(feature = "remote")]
pub struct Hold {
    info: LimitInfo,
    lease: Arc<Lease>,
}

#[cfg(feature = "remote")]
impl Limiter {
    /// Takes one unit of a limit of type concurrency, within `max_wait`, and [holds](Hold) it.
    ///
    /// Dropping the future cancels the call: then it holds nothing. A wait of zero asks once.
    ///
    /// # Errors
    /// [`HoldError::Blocked`] if there was no room within `max_wait`, and [`HoldError::Failed`] for a limit of another
    /// type, and as [`limit_sync`](Self::limit_sync).
    ///
    /// # Panics
    /// As [`acquire`](Self::acquire).
    pub async fn hold(&self, limit: &Limit, actor: &str, max_wait: Duration) -> Result<Hold, HoldError> {
        self.hold_checks(&[Check::new(limit, actor)], max_wait).await
    }

    /// [`hold`](Self::hold) of several checks, all or nothing; at least one is of a limit of type concurrency.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::{Check, Limit, Limiter, Memory};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let limiter = Limiter::new(Memory::new());
    /// let exports = Limit::concurrency("exports", 3, Duration::from_secs(60)).build()?;
    /// let rows = Limit::token_bucket("rows", 100, Duration::from_secs(3600)).build()?;
    ///
    /// let checks = [Check::new(&exports, "ada"), Check::new(&rows, "ada").cost(50)];
    /// let held = limiter.hold_checks(&checks, Duration::ZERO).await?;
    /// held.settle(&[("rows", 20)])?;
    /// drop(held);
    /// assert_eq!(limiter.peek(&rows, "ada").await?.remaining, 80);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`hold`](Self::hold).
    ///
    /// # Panics
    /// As [`hold`](Self::hold).
    pub async fn hold_checks(&self, checks: &[Check<'_>], max_wait: Duration) -> Result<Hold, HoldError> {
        let Some(acquire) = self.start_hold(checks, max_wait)? else { return self.hold_here(checks) };
        let began = clock::now();
        let info = acquire.finish().await?;
        self.held(checks, info, began)
    }

    /// [`hold_checks`](Self::hold_checks), which blocks this thread while it waits.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate::hold::HoldError;
    /// use tidegate::{Check, Limit, Limiter, Memory};
    ///
    /// let limiter = Limiter::new(Memory::new());
    /// let exports = Limit::concurrency("exports", 1, Duration::from_secs(60)).build()?;
    /// let checks = [Check::new(&exports, "ada")];
    ///
    /// let held = limiter.hold_checks_sync(&checks, Duration::ZERO)?;
    /// let denied = limiter.hold_checks_sync(&checks, Duration::ZERO);
    /// assert!(matches!(denied, Err(HoldError::Blocked { .. })));
    /// held.release_sync()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`hold`](Self::hold).
    pub fn hold_checks_sync(&self, checks: &[Check<'_>], max_wait: Duration) -> Result<Hold, HoldError> {
        let Some(acquire) = self.start_hold(checks, max_wait)? else { return self.hold_here(checks) };
        let began = clock::now();
        let info = acquire.finish_sync()?;
        self.held(checks, info, began)
    }

    /// None where the call neither waits nor can be given up meanwhile.
    fn start_hold(&self, checks: &[Check<'_>], max_wait: Duration) -> Result<Option<Acquire>, Error> {
        may_hold(checks)?;
        if max_wait.is_zero() && !self.is_remote() {
            return Ok(None);
        }
        let acquire = self.start_acquire(checks, max_wait);
        Ok(Some(if max_wait.is_zero() { acquire.at_once() } else { acquire }))
    }

    /// One decision. The lease counts by this process's clock, which is not that of memory that processes share.
    fn hold_here(&self, checks: &[Check<'_>]) -> Result<Hold, HoldError> {
        let began = clock::now();
        let info = self.decide_sync(checks, Call::Limit)?;
        self.held(checks, info, began)
    }

    fn held(&self, checks: &[Check<'_>], info: LimitInfo, began: Micros) -> Result<Hold, HoldError> {
        if info.blocked {
            return Err(HoldError::blocked(checks, info));
        }
        // A wait counts from its end: the units were taken then.
        let began = if info.wait_ms > 0 { clock::now() } else { began };
        let receipt = self.receipt(checks, Call::Limit, &info);
        let lease = Lease::begin(receipt, shortest_lease(checks).unwrap_or_default(), began);
        Ok(Hold { info, lease })
    }
}

#[cfg(feature = "remote")]
impl Hold {
    /// The result of the call that took the units.
    #[must_use]
    pub fn info(&self) -> &LimitInfo {
        &self.info
    }

    /// True when the units could not be renewed in time: stop the work, others may have them.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lease.is_lost()
    }

    /// Completes when the units are [lost](Self::is_lost), and never if they are released before. The future may outlive
    /// the hold.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + use<> {
        let lease = Arc::clone(&self.lease);
        async move { lease.lost().await }
    }

    /// Notes the actual costs of what is charged beside the units, for the end of the hold, once: the cost of the only
    /// check that holds no units, a list of one cost for each check, or costs by the keys of limits. The others stay as
    /// they were charged.
    ///
    /// # Errors
    /// When a check is not there, or is not the only one.
    pub fn settle<'a>(&self, costs: impl Into<Costs<'a>>) -> Result<(), LimitError> {
        self.lease.note(spent_of_hold(&self.lease.receipt().checks(), costs.into(), |_, units| Ok(units))?);
        Ok(())
    }

    /// Releases the units, and settles what [`settle`](Self::settle) has noted in the same call.
    ///
    /// # Errors
    /// When the store fails. The units are free when their lease is over.
    pub async fn release(self) -> Result<LimitInfo, Error> {
        loop {
            let changed = self.lease.changed();
            if let Some(end) = self.lease.end() {
                return end.now().await;
            }
            if self.lease.is_over() {
                return Ok(self.info.clone());
            }
            changed.await;
        }
    }

    /// [`release`](Self::release) on this thread.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn release_sync(self) -> Result<LimitInfo, Error> {
        match self.lease.end_after_renewal() {
            Some(end) => end.now_sync(),
            None => Ok(self.info.clone()),
        }
    }
}

#[cfg(feature = "remote")]
impl Drop for Hold {
    fn drop(&mut self) {
        self.lease.end_soon();
    }
}
