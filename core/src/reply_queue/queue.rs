//! A queue from the threads of the engine to one of a host language.

use std::mem;
use std::sync::PoisonError;

use super::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard};

/// The means to wake the reader of a queue, from any thread.
pub trait Wake {
    /// Wakes the reader. It may do so once more than it has to, and it must not wait for the reader.
    fn wake(&self);
}

/// A queue with one reader, which sleeps while it is empty.
///
/// The first item of an empty queue wakes the reader. **Invariant:** while there are items, the reader is awake or the
/// thread that pushed the first of them is about to wake it. So the reader has to notice that it was woken before it
/// [takes](Self::take) what is there, never after.
///
/// No lock is held while another is taken, and none while the waker's own code could wait.
pub struct ReplyQueue<T, W> {
    items: Mutex<Items<T>>,
    /// Gone once the queue is closed. Wakers run under the lock for reading, so that it does not go meanwhile.
    waker: RwLock<Option<W>>,
}

struct Items<T> {
    waiting: Vec<T>,
    is_closed: bool,
}

impl<T, W: Wake> ReplyQueue<T, W> {
    /// An empty queue. Without a waker, items wait for one, or for a reader that comes by itself.
    pub fn new(waker: Option<W>) -> Self {
        let items = Items { waiting: Vec::new(), is_closed: false };
        Self { items: Mutex::new(items), waker: RwLock::new(waker) }
    }

    /// Sets the waker, before the first item.
    pub fn wake_by(&self, waker: W) {
        *self.waker.write().unwrap_or_else(PoisonError::into_inner) = Some(waker);
    }

    /// Adds an item.
    ///
    /// # Errors
    /// The item, if the queue is closed.
    pub fn push(&self, item: T) -> Result<(), T> {
        self.push_below(usize::MAX, item)
    }

    /// Adds an item, or drops it where so many wait already.
    ///
    /// # Errors
    /// The item, if the queue is closed.
    pub fn push_below(&self, most: usize, item: T) -> Result<(), T> {
        let mut items = self.items();
        if items.is_closed {
            return Err(item);
        }
        if items.waiting.len() >= most {
            return Ok(());
        }
        let is_first = items.waiting.is_empty();
        items.waiting.push(item);
        drop(items);
        if is_first {
            self.with_waker(Wake::wake);
        }
        Ok(())
    }

    /// All items; the next one wakes the reader again.
    #[must_use]
    pub fn take(&self) -> Vec<T> {
        mem::take(&mut self.items().waiting)
    }

    /// Calls a function with the waker, while there is one.
    pub fn with_waker(&self, work: impl FnOnce(&W)) {
        let waker: RwLockReadGuard<'_, _> = self.waker.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(waker) = &*waker {
            work(waker);
        }
    }

    /// Refuses all further items and returns those that were not taken; the waker is not called after this.
    #[must_use = "these items have been accepted"]
    pub fn close(&self) -> Vec<T> {
        let waker = self.waker.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(waker);
        let mut items = self.items();
        items.is_closed = true;
        mem::take(&mut items.waiting)
    }

    fn items(&self) -> MutexGuard<'_, Items<T>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
