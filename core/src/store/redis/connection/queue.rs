//! The queue into the task of a connection.
//!
//! A queue that is closed takes nothing any more, and gives back what it is given; closing it drops what is in it. Both
//! happen under one lock, so no message is left in a queue without a reader.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

struct Shared<M> {
    state: Mutex<State<M>>,
}

struct State<M> {
    messages: Vec<M>,
    /// Of the task, while it sleeps.
    waker: Option<Waker>,
    /// All senders are gone.
    left: bool,
    /// The receiver is gone.
    closed: bool,
}

/// The end that messages are sent through.
pub(super) struct Sender<M>(Arc<Shared<M>>);

/// The end that the task reads.
pub(super) struct Receiver<M>(Arc<Shared<M>>);

/// The reason for which a receiver was woken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    Messages,
    /// There will be no more.
    Nothing,
}

pub(crate) fn queue<M>() -> (Sender<M>, Receiver<M>) {
    let state = State { messages: Vec::new(), waker: None, left: false, closed: false };
    let shared = Arc::new(Shared { state: Mutex::new(state) });
    (Sender(shared.clone()), Receiver(shared))
}

impl<M> Shared<M> {
    fn lock(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M> Sender<M> {
    /// Sends a message, or gives it back if the receiver is gone.
    pub(crate) fn send(&self, message: M) -> Result<(), M> {
        let waker = {
            let mut state = self.0.lock();
            if state.closed {
                return Err(message);
            }
            state.messages.push(message);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().closed
    }
}

impl<M> Drop for Sender<M> {
    fn drop(&mut self) {
        let waker = {
            let mut state = self.0.lock();
            state.left = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<M> Receiver<M> {
    /// Moves what has come to an empty list, without waiting.
    pub(crate) fn take(&self, messages: &mut Vec<M>) {
        std::mem::swap(&mut self.0.lock().messages, messages);
    }

    /// Moves what has come to an empty list.
    pub(super) fn poll(&self, context: &Context<'_>, messages: &mut Vec<M>) -> Poll<Received> {
        let mut state = self.0.lock();
        if !state.messages.is_empty() {
            std::mem::swap(&mut state.messages, messages);
            return Poll::Ready(Received::Messages);
        }
        if state.left {
            return Poll::Ready(Received::Nothing);
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

impl<M> Drop for Receiver<M> {
    fn drop(&mut self) {
        let (messages, waker) = {
            let mut state = self.0.lock();
            state.closed = true;
            (std::mem::take(&mut state.messages), state.waker.take())
        };
        // Each is answered as it is dropped, which may take locks of others.
        drop((messages, waker));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_was_sent_is_read_before_the_end_and_a_sleeper_is_woken_by_each() {
        let woken = Arc::<Woken>::default();
        let waker = Waker::from(woken.clone());
        let (sender, receiver) = queue();
        let (mut context, mut read) = (Context::from_waker(Waker::noop()), Vec::new());
        assert!(receiver.poll(&context, &mut read).is_pending());
        // Another task may poll it the next time.
        context = Context::from_waker(&waker);
        assert!(receiver.poll(&context, &mut read).is_pending());
        assert!(sender.send(1).is_ok() && sender.send(2).is_ok());
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "woken once, and no longer asleep");
        assert!(receiver.poll(&context, &mut read) == Poll::Ready(Received::Messages) && read == [1, 2]);
        read.clear();
        assert!(receiver.poll(&context, &mut read).is_pending());
        assert!(!sender.is_closed() && sender.send(3).is_ok());
        receiver.take(&mut read);
        assert_eq!(read, [3], "without waiting");
        read.clear();
        receiver.take(&mut read);
        assert!(read.is_empty() && sender.send(3).is_ok());
        drop(sender);
        assert!(receiver.poll(&context, &mut read) == Poll::Ready(Received::Messages) && read == [3]);
        read.clear();
        assert!(receiver.poll(&context, &mut read) == Poll::Ready(Received::Nothing) && read.is_empty());

        let (sender, receiver) = queue::<u8>();
        assert!(receiver.poll(&context, &mut Vec::new()).is_pending());
        let before = woken.0.load(Ordering::Relaxed);
        drop(sender);
        assert_eq!(woken.0.load(Ordering::Relaxed), before + 1, "that nobody is left is news as well");
    }

    #[test]
    fn a_queue_that_nobody_reads_keeps_nothing() {
        let (sender, receiver) = queue();
        let message = Arc::new(());
        assert!(sender.send(message.clone()).is_ok());
        drop(receiver);
        assert_eq!(Arc::strong_count(&message), 1, "what was in it is dropped, and so answered");
        assert!(sender.is_closed());
        assert!(sender.send(message).is_err(), "what comes later is given back");
    }
}
