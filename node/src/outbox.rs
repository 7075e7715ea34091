//! Calls to shared stores that this thread makes in one turn of its event loop, and that travel together.
//!
//! Each batch takes a write, a read and two wake-ups of threads, which together cost more than a decision does. So where
//! a turn makes several calls, those of the next one wait for its end, as long as it takes the event loop to get there;
//! their deadlines count from then. A call that is alone is sent at once, for it would wait for nothing.

use tidegate::ffi::UnsentCall;

/// Calls that wait for the end of their turn. More would have the server wait for them.
const MOST_WAITING: usize = 16;

/// The calls of one turn of the event loop.
#[derive(Default)]
pub(crate) struct Outbox {
    waiting: Vec<UnsentCall>,
    /// The number that this turn has sent.
    sent: usize,
    /// The turn before made several.
    is_busy: bool,
}

impl Outbox {
    /// True if the next call is to wait for those after it.
    pub(crate) fn waits(&self) -> bool {
        self.is_busy || self.sent > 0
    }

    /// Keeps a call until the turn ends, or sends all that wait where they are many.
    pub(crate) fn push(&mut self, call: UnsentCall) {
        self.waiting.push(call);
        if self.waiting.len() >= MOST_WAITING {
            self.send();
        }
    }

    /// A call was sent on its own.
    pub(crate) const fn sent_one(&mut self) {
        self.sent += 1;
    }

    /// Sends what waits, so that a call that is made in another way comes after it.
    pub(crate) fn send(&mut self) {
        self.sent += UnsentCall::send_together(self.waiting.drain(..));
    }

    /// The event loop ends its turn; one in which nothing is sent says nothing about the next.
    pub(crate) fn end_turn(&mut self) {
        self.send();
        match std::mem::take(&mut self.sent) {
            0 => {}
            sent => self.is_busy = sent > 1,
        }
    }
}
