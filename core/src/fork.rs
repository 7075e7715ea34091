//! The identity of a process, which a forked child does not share.

use std::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);

/// To be called in a child process right after a fork, so that it makes connections and threads of its own; those of
/// its parent are of no use to it.
///
/// Limiters find out by themselves when they are about to talk to a server. Only what this process answers
/// without asking one (denials that it remembers) may wait for a lock that another thread of the parent held.
#[cfg(feature = "remote")]
pub fn after_fork() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// A process, as distinct from its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    generation: u32,
    id: u32,
}

impl Process {
    pub(crate) fn current() -> Self {
        Self { generation: GENERATION.load(Ordering::Relaxed), id: std::process::id() }
    }

    /// Another process, for tests.
    #[cfg(test)]
    pub(crate) fn of(id: u32) -> Self {
        Self { generation: 0, id }
    }

    /// Costs next to nothing, and is right where a child calls [`after_fork`].
    #[cfg(feature = "remote")]
    pub(crate) fn is_current_unless_forked(self) -> bool {
        self.generation == GENERATION.load(Ordering::Relaxed)
    }

    pub(crate) fn is_current(self) -> bool {
        self == Self::current()
    }
}
