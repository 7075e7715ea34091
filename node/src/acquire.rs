//! Acquires under way, as the registry keeps them.

use tidegate::acquire::{Acquire, AcquireHandle};

/// An acquire in memory, for which JavaScript sleeps.
pub(crate) struct Steps(pub(crate) Acquire);

/// An acquire of a shared store, for which the engine sleeps. It ends with the thread that waits for it, unless its
/// answer was taken.
pub(crate) struct Handle(pub(crate) AcquireHandle);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
