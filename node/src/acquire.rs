//! Acquires under way, as the registry keeps them.

use tidegate::acquire::{self, Acquire};

/// An acquire in memory, for which JavaScript sleeps.
pub(crate) struct AcquireSteps(pub(crate) Acquire);

/// An acquire of a shared store, for which the engine sleeps. It ends with the thread that waits for it, unless its
/// answer was taken.
pub(crate) struct AcquireHandle(pub(crate) acquire::AcquireHandle);

impl Drop for AcquireHandle {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
