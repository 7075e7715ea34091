//! The hand-over of a runtime between its own thread and callers that wait.
//!
//! A runtime's thread that reads an answer and then wakes a caller costs two wake-ups, one after the other. So where one
//! caller at a time waits, call after call, the thread goes away, and that caller drives the runtime itself.
//!
//! **Invariant:** while the thread is away, the runtime is not needed, or one caller needs it, and drives it.
//!
//! Both facts are one word, so no step of one thread is between two steps of another. A caller drives only if that word
//! says that the thread is away and the runtime is not needed. All others count themselves and see by the same step if
//! the thread is away; they then call it back. A driver that leaves early does so too. The call goes to the thread's
//! token, or finds it in the queue for the runtime, so none is lost. The thread comes back by itself when no caller has
//! driven for a while: until then, work that no call waits for (a broken connection, a timer of a reconnection) is late
//! by that while at most, or is done by the next caller.

use std::time::Duration;

use super::sync::{AtomicU64, OnceLock, Ordering, Thread, current, park_for};

/// The thread does not drive, and does not wait for its turn either.
const AWAY: u64 = 1;
/// One that needs the runtime driven.
const NEED: u64 = 2;
const NEEDS: u64 = BEGUN - NEED;
/// One that ever needed it, in the upper half, which may overflow.
const BEGUN: u64 = 1 << 32;

pub(super) struct Handover {
    word: AtomicU64,
    thread: OnceLock<Thread>,
}

/// A state of the word, to compare with a later one.
#[derive(Clone, Copy)]
pub(super) struct Seen(u64);

impl Handover {
    pub(super) fn new() -> Self {
        Self { word: AtomicU64::new(0), thread: OnceLock::new() }
    }

    /// The runtime is needed until [`end`](Self::end), and the thread is called back if it is away: true if it was.
    pub(super) fn need(&self) -> bool {
        self.word.fetch_add(BEGUN + NEED, Ordering::SeqCst) & AWAY != 0 && self.call_back()
    }

    /// Lets one caller drive until [`end`](Self::end), if the thread is away and the runtime is not needed.
    pub(super) fn take_seat(&self) -> bool {
        self.change(|word| (word & (NEEDS | AWAY) == AWAY).then(|| word.wrapping_add(BEGUN + NEED)))
    }

    pub(super) fn end(&self) {
        self.word.fetch_sub(NEED, Ordering::SeqCst);
    }

    /// Calls the thread back; true if it was away.
    pub(super) fn call_back(&self) -> bool {
        let was_away = self.word.fetch_and(!AWAY, Ordering::SeqCst) & AWAY != 0;
        if let Some(thread) = self.thread.get().filter(|_| was_away) {
            thread.unpark();
        }
        was_away
    }

    /// Sends the thread away if the runtime is not needed; the caller has to wake it for that.
    pub(super) fn send_away(&self) -> bool {
        self.change(|word| (word & (NEEDS | AWAY) == 0).then_some(word | AWAY))
    }

    pub(super) fn is_away(&self) -> bool {
        self.word.load(Ordering::SeqCst) & AWAY != 0
    }

    /// Keeps the runtime's thread here while it is away: until it is called back, or the runtime was not needed anew
    /// for this time. True if it came back by itself.
    pub(super) fn stay_away(&self, linger: Duration) -> bool {
        let mut before = self.word.load(Ordering::SeqCst);
        while before & AWAY != 0 {
            let in_full = park_for(linger);
            let now = self.word.load(Ordering::SeqCst);
            if in_full && now == before {
                return self.word.fetch_and(!AWAY, Ordering::SeqCst) & AWAY != 0;
            }
            before = now;
        }
        false
    }

    /// Has this thread be the runtime's, before it is first away.
    pub(super) fn belongs_here(&self) {
        let _ = self.thread.set(current());
    }

    pub(super) fn seen(&self) -> Seen {
        Seen(self.word.load(Ordering::SeqCst))
    }

    /// True if the runtime is not needed, was not needed then, and was needed once since.
    pub(super) fn was_alone_since(&self, then: Seen) -> bool {
        let now = self.word.load(Ordering::SeqCst);
        then.0 & NEEDS == 0 && now & !AWAY == (then.0 & !AWAY).wrapping_add(BEGUN)
    }

    fn change(&self, change: impl Fn(u64) -> Option<u64>) -> bool {
        self.word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, change).is_ok()
    }
}
