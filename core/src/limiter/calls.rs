//! The calls of one limit at a cost of one unit, each as a future and on the calling thread.

use super::{Limiter, Store};
use crate::Error;
use crate::check::Check;
use crate::decision::Call;
use crate::info::LimitInfo;
use crate::limit::Limit;
use crate::time::Micros;

impl Limiter {
    /// Charges one unit if it fits.
    ///
    /// # Errors
    /// [`LimitError`](crate::LimitError) for an actor that is too long; nothing is stored then. Over a shared store,
    /// `StoreError` if the store does not decide and [`OnError::Raise`](crate::remote::OnError) is set.
    #[inline]
    pub fn limit_sync(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.limit_on(limit, actor, 1, 1.0, None)
    }

    /// One plain check, on the path of its store that knows what it is.
    #[expect(clippy::inline_always, reason = "so is that path, and numbers that are known stay known")]
    #[inline(always)]
    pub(super) fn limit_uncounted(
        &self,
        limit: &Limit,
        actor: &str,
        cost: u64,
        factor: f64,
        now: Option<Micros>,
    ) -> Result<LimitInfo, Error> {
        match &self.store {
            Store::Local(local) => local.limit_one(limit, actor, cost, factor, now),
            #[cfg(feature = "remote")]
            Store::Remote(remote) => {
                remote.decide_sync(&[Check::new(limit, actor).cost(cost).factor(factor)], Call::Limit, now)
            }
            #[cfg(all(feature = "shm", target_os = "linux"))]
            Store::Shared(shared) => shared.limit_one(limit, actor, cost, factor, now),
        }
    }

    /// Answers as [`limit_sync`](Self::limit_sync) would, and charges nothing.
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync).
    pub fn peek_sync(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.decide_on(&[Check::new(limit, actor)], Call::Peek, None)
    }

    /// Charges one unit even if it does not fit. A cost that is known afterwards is charged with
    /// [`decide_sync`](Self::decide_sync) and [`Call::Charge`].
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync), and when the level would leave the exact range: above 2^52 units, or above
    /// what drains in 2^53 microseconds (285 years). Nothing is charged then.
    pub fn charge_sync(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.decide_on(&[Check::new(limit, actor)], Call::Charge, None)
    }

    /// Gives one unit back.
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync).
    pub fn refund_sync(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.decide_on(&[Check::new(limit, actor)], Call::Refund, None)
    }

    /// Removes the entry of this actor. For several limits in one round trip, decide them with [`Call::Reset`].
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync).
    pub fn reset_sync(&self, limit: &Limit, actor: &str) -> Result<(), Error> {
        self.decide_on(&[Check::new(limit, actor)], Call::Reset, None).map(drop)
    }

    /// [`limit_sync`](Self::limit_sync) as a future.
    ///
    /// # Errors
    /// As [`limit_sync`](Self::limit_sync).
    pub async fn limit(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.decide(&[Check::new(limit, actor)], Call::Limit).await
    }

    /// [`peek_sync`](Self::peek_sync) as a future.
    ///
    /// # Errors
    /// As [`peek_sync`](Self::peek_sync).
    pub async fn peek(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.decide(&[Check::new(limit, actor)], Call::Peek).await
    }

    /// [`charge_sync`](Self::charge_sync) as a future.
    ///
    /// # Errors
    /// As [`charge_sync`](Self::charge_sync).
    pub async fn charge(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.decide(&[Check::new(limit, actor)], Call::Charge).await
    }

    /// [`refund_sync`](Self::refund_sync) as a future.
    ///
    /// # Errors
    /// As [`refund_sync`](Self::refund_sync).
    pub async fn refund(&self, limit: &Limit, actor: &str) -> Result<LimitInfo, Error> {
        self.decide(&[Check::new(limit, actor)], Call::Refund).await
    }

    /// [`reset_sync`](Self::reset_sync) as a future.
    ///
    /// # Errors
    /// As [`reset_sync`](Self::reset_sync).
    pub async fn reset(&self, limit: &Limit, actor: &str) -> Result<(), Error> {
        self.decide(&[Check::new(limit, actor)], Call::Reset).await.map(drop)
    }
}
