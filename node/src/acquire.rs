//! Acquires under way, as the registry keeps them.

use tidegate::{Acquire, AcquireHandle};

/// An acquire in memory, for which JavaScript sleeps.
pub(crate) struct Turn(pub(crate) Acquire);

/// An acquire of a shared store, for which the engine sleeps. It ends with the thread that waits for it, unless its
/// answer was taken.
pub(crate) struct Waiting(pub(crate) AcquireHandle);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
