//! The queue into the task of a connection.
//!
//! A queue that is closed takes nothing any more, and gives back what it is given; closing it drops what is in it. Both
//! happen under one lock, so no message is left in a queue without a reader.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::message::Message;

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    messages: Vec<Message>,
    /// Of the task, while it sleeps.
    waker: Option<Waker>,
    /// All senders are gone.
    left: bool,
    /// The receiver is gone.
    closed: bool,
}

/// The end that messages are sent through.
pub(super) struct Sender(Arc<Shared>);

/// The end that the task reads.
pub(super) struct Receiver(Arc<Shared>);

/// The reason for which a receiver was woken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    Messages,
    /// There will be no more.
    Nothing,
}

pub(super) fn queue() -> (Sender, Receiver) {
    let shared = Arc::<Shared>::default();
    (Sender(shared.clone()), Receiver(shared))
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sender {
    /// Sends a message, or gives it back if the receiver is gone.
    pub(super) fn send(&self, message: Message) -> Result<(), Message> {
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

impl Drop for Sender {
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

impl Receiver {
    /// Moves what has come to an empty list.
    pub(super) fn poll(&self, context: &Context<'_>, messages: &mut Vec<Message>) -> Poll<Received> {
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

impl Drop for Receiver {
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
