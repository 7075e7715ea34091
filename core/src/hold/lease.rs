//! The lease of what is held: renewed by the process's agenda, ended once.

use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::term::{Renewal, Term};
use crate::clock;
use crate::error::Error;
use crate::fork::Process;
use crate::info::LimitInfo;
use crate::receipt::Receipt;
use crate::store::remote::{Background, Due, background};
use crate::time::Micros;

#[derive(Debug)]
pub(crate) struct Lease {
    process: Process,
    /// None if the thread of the library could not be started: then nothing renews.
    background: Option<Arc<Background>>,
    state: Mutex<State>,
    /// Notified when a renewal has ended.
    changed: Notify,
    /// The same, for threads.
    renewed: Condvar,
}

#[derive(Debug)]
struct State {
    /// The one of the latest renewal.
    receipt: Arc<Receipt>,
    term: Term,
    is_renewing: bool,
    is_lost: bool,
    is_over: bool,
    /// The final cost of each check, if any was noted.
    spent: Option<Vec<u64>>,
}

/// The call that ends a hold.
pub(super) struct End {
    receipt: Arc<Receipt>,
    spent: Option<Vec<u64>>,
}

impl Lease {
    /// Renews what this receipt is of, which was taken at this time for as long as this.
    pub(crate) fn begin(receipt: Receipt, length: Duration, began: Micros) -> Arc<Self> {
        let term = Term::new(length, began);
        let process = Process::current();
        let lease = Arc::new(Self {
            process,
            background: background(process).ok(),
            state: Mutex::new(State {
                receipt: Arc::new(receipt),
                term,
                is_renewing: false,
                is_lost: false,
                is_over: false,
                spent: None,
            }),
            changed: Notify::new(),
            renewed: Condvar::new(),
        });
        if let Some(background) = &lease.background {
            let weak = Arc::downgrade(&lease);
            background.call_at(term.first(), weak);
        }
        lease
    }

    pub(super) fn is_lost(&self) -> bool {
        self.state().is_lost
    }

    /// True where it has ended, and in a forked child, whose parent has the units.
    pub(super) fn is_over(&self) -> bool {
        !self.process.is_current() || self.state().is_over
    }

    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    pub(super) async fn lost(&self) {
        loop {
            let changed = self.changed();
            if self.is_lost() {
                return;
            }
            changed.await;
        }
    }

    /// Notes the final cost of each check.
    pub(crate) fn note(&self, spent: Vec<u64>) {
        self.state().spent = Some(spent);
    }

    pub(super) fn receipt(&self) -> Arc<Receipt> {
        Arc::clone(&self.state().receipt)
    }

    /// The call that ends it, once; none while it is renewed, because the units are others after that.
    pub(super) fn end(&self) -> Option<End> {
        if !self.process.is_current() {
            return None;
        }
        let mut state = self.state();
        if state.is_renewing { None } else { self.end_of(&mut state) }
    }

    /// [`end`](Self::end), after a renewal that is under way.
    pub(super) fn end_after_renewal(&self) -> Option<End> {
        if !self.process.is_current() {
            return None;
        }
        let waited = self.renewed.wait_while(self.state(), |state| state.is_renewing);
        self.end_of(&mut waited.unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends it without waiting, once; after a renewal that is under way, that does it.
    pub(crate) fn end_soon(&self) {
        // Most have ended by now, and to see that takes less than to ask the system which process this is. In a forked
        // child nobody waits for the lock.
        if self.state.try_lock().is_ok_and(|state| state.is_over) || !self.process.is_current() {
            return;
        }
        let mut state = self.state();
        if state.is_renewing {
            state.is_over = true;
            return;
        }
        let end = self.end_of(&mut state);
        drop(state);
        if let Some(end) = end {
            end.soon();
        }
    }

    fn end_of(&self, state: &mut State) -> Option<End> {
        if std::mem::replace(&mut state.is_over, true) {
            return None;
        }
        if let Some(background) = &self.background {
            background.called_off();
        }
        Some(End { receipt: Arc::clone(&state.receipt), spent: state.spent.take() })
    }

    async fn renew(&self) -> Option<Micros> {
        let renewal = Renewing::begin(self)?;
        let began = clock::now();
        let (info, receipt) = renewal.receipt.renew().await.ok().unzip();
        let mut state = self.state();
        let degraded = state.receipt.is_degraded();
        match state.term.renew(info.as_ref(), degraded, began) {
            Renewal::Done(next) => {
                state.receipt = receipt.map_or_else(|| Arc::clone(&state.receipt), Arc::new);
                Some(next)
            }
            Renewal::Failed(next) => Some(next),
            Renewal::Lost => {
                state.is_lost = true;
                None
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Due for Lease {
    fn call(self: Arc<Self>) -> Pin<Box<dyn Future<Output = Option<Micros>> + Send>> {
        Box::pin(async move { self.renew().await })
    }
}

impl End {
    pub(super) async fn now(self) -> Result<LimitInfo, Error> {
        match &self.spent {
            None => self.receipt.release().await,
            Some(spent) => self.receipt.settle(spent).await,
        }
    }

    pub(super) fn now_sync(self) -> Result<LimitInfo, Error> {
        match &self.spent {
            None => self.receipt.release_sync(),
            Some(spent) => self.receipt.settle_sync(spent),
        }
    }

    fn soon(self) {
        match &self.spent {
            None => self.receipt.release_soon(),
            Some(spent) => self.receipt.settle_soon(spent),
        }
    }
}

/// A renewal under way. However it ends, those who wait for its end go on.
struct Renewing<'a> {
    lease: &'a Lease,
    receipt: Arc<Receipt>,
}

impl<'a> Renewing<'a> {
    /// None where the hold is over.
    fn begin(lease: &'a Lease) -> Option<Self> {
        let mut state = lease.state();
        if state.is_over {
            return None;
        }
        state.is_renewing = true;
        Some(Self { lease, receipt: Arc::clone(&state.receipt) })
    }
}

impl Drop for Renewing<'_> {
    fn drop(&mut self) {
        let mut state = self.lease.state();
        state.is_renewing = false;
        let end = std::mem::take(&mut state.is_over).then(|| self.lease.end_of(&mut state)).flatten();
        drop(state);
        if let Some(end) = end {
            end.soon();
        }
        self.lease.changed.notify_waiters();
        self.lease.renewed.notify_all();
    }
}
