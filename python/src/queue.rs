//! A queue from the threads of the engine to one of Python's.
//!
//! To push never takes the interpreter's lock.

use tidegate::ffi::{ReplyQueue, Wake};

use crate::socket_pair::SocketPair;

pub(crate) struct Queue<T>(ReplyQueue<T, Waker>);

/// The means to wake the reader.
pub(crate) enum Waker {
    /// A byte through a socket.
    Socket(SocketPair),
    /// For a reader that watches no socket.
    Function(Box<dyn Fn() + Send + Sync>),
}

impl Wake for Waker {
    fn wake(&self) {
        match self {
            Self::Socket(pair) => pair.wake(),
            Self::Function(wake) => wake(),
        }
    }
}

impl<T> Queue<T> {
    pub(crate) fn new(waker: Waker) -> Self {
        Self(ReplyQueue::new(Some(waker)))
    }

    pub(crate) fn push(&self, item: T) {
        self.push_below(usize::MAX, item);
    }

    /// Drops the item where so many are queued already.
    pub(crate) fn push_below(&self, most: usize, item: T) {
        // It is never closed: it goes with its reader.
        drop(self.0.push_below(most, item));
    }

    /// Reads what woke the reader, where it does not do so itself. Before [`take`](Self::take).
    pub(crate) fn drain(&self) {
        self.0.with_waker(|waker| {
            if let Waker::Socket(pair) = waker {
                pair.drain();
            }
        });
    }

    /// All items; the next one wakes the reader again.
    pub(crate) fn take(&self) -> Vec<T> {
        self.0.take()
    }
}
