//! Acquires under way, as the registry keeps them.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use tidegate::acquire::{self, Acquire};

/// An acquire in memory, for which JavaScript sleeps.
pub(crate) struct AcquireSteps(pub(crate) Acquire);

/// The numbers of acquires in memory whose bells have rung.
#[derive(Default)]
pub(crate) struct Rung(Arc<Mutex<Vec<f64>>>);

impl Rung {
    pub(crate) fn waker(&self, number: f64) -> Waker {
        Waker::from(Arc::new(Ring { number, rung: self.0.clone() }))
    }

    pub(crate) fn take(&self) -> Vec<f64> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Ring {
    number: f64,
    rung: Arc<Mutex<Vec<f64>>>,
}

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

/// An acquire of a shared store, for which the engine sleeps. It ends with the thread that waits for it, unless its
/// answer was taken.
pub(crate) struct AcquireHandle(pub(crate) acquire::AcquireHandle);

impl Drop for AcquireHandle {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
