//! The things that all limiters over one store share, beside the store.

#[cfg(feature = "tower")]
use super::definitions::Definitions;
use super::queue::WaitQueue;

#[derive(Debug, Default)]
pub(super) struct Common {
    /// The calls that wait for limits that do not reserve.
    pub(super) queue: WaitQueue,
    #[cfg(feature = "tower")]
    pub(super) definitions: Definitions,
}
