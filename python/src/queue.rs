//! A queue from the threads of the engine to one of Python's.
//!
//! To push never takes the interpreter's lock. The first item of an empty queue wakes the reader.

use std::sync::{Mutex, PoisonError};

use crate::socket_pair::SocketPair;

pub(crate) struct Queue<T> {
    items: Mutex<Vec<T>>,
    waker: Waker,
}

/// The means to wake the reader.
pub(crate) enum Waker {
    /// A byte through a socket.
    Socket(SocketPair),
    /// For a reader that watches no socket.
    Function(Box<dyn Fn() + Send + Sync>),
}

impl<T> Queue<T> {
    pub(crate) fn new(waker: Waker) -> Self {
        Self { items: Mutex::default(), waker }
    }

    pub(crate) fn push(&self, item: T) {
        self.push_below(usize::MAX, item);
    }

    /// Drops the item where so many are queued already.
    pub(crate) fn push_below(&self, most: usize, item: T) {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        if items.len() >= most {
            return;
        }
        let is_first = items.is_empty();
        items.push(item);
        drop(items);
        if is_first {
            match &self.waker {
                Waker::Socket(pair) => pair.wake(),
                Waker::Function(wake) => wake(),
            }
        }
    }

    /// Reads what woke the reader, where it does not do so itself. Before [`take`](Self::take).
    pub(crate) fn drain(&self) {
        if let Waker::Socket(pair) = &self.waker {
            pair.drain();
        }
    }

    /// All items; the next one wakes the reader again.
    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.items.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
