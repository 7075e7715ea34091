//! Calls to shared stores that this thread makes in one iteration of its event loop, and that are sent together.
//!
//! Each batch takes a write, a read and two wake-ups of threads, which together cost more than a decision. So where an
//! iteration makes several calls, those of the next one are kept until its end. Their deadlines count from then. A call
//! that is alone is sent at once.

use tidegate::ffi::UnsentCall;

/// The most calls that wait for the end of their iteration. With more of them, the server would be idle meanwhile.
const MOST_WAITING: usize = 16;

/// The calls of one iteration of the event loop.
#[derive(Default)]
pub(crate) struct Outbox {
    waiting: Vec<UnsentCall>,
    /// The number of calls that this iteration has sent.
    sent: usize,
    /// The iteration before made several calls.
    is_busy: bool,
}

impl Outbox {
    /// True if the next call is to wait for those after it.
    pub(crate) fn waits(&self) -> bool {
        self.is_busy || self.sent > 0
    }

    /// Keeps a call until the iteration ends, or sends all that wait where they are many.
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

    /// Ends an iteration of the event loop; one in which nothing is sent says nothing about the next.
    pub(crate) fn end_iteration(&mut self) {
        self.send();
        match std::mem::take(&mut self.sent) {
            0 => {}
            sent => self.is_busy = sent > 1,
        }
    }
}
