//! The reply queue: replies on their way from the store's thread to the thread that JavaScript runs on.
//!
//! JavaScript is woken only where the queue was empty. In its own time it empties the queue: all that is there by then
//! is handed over in one call, as numbers in the [reply buffer](ReplyBuffer). While calls are under way the environment
//! is kept alive. An answer that comes after the end of its environment is given back where an acquire charged it.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use napi::bindgen_prelude::ToNapiValue;
use napi::{Result, check_status, sys};
use tidegate::ffi::{self, Wake};

use crate::reply::Reply;
use crate::reply_buffer::ReplyBuffer;

/// The reply queue of one environment.
pub(crate) struct ReplyQueue {
    replies: ffi::ReplyQueue<Reply, Waker>,
    /// The typed array that answers are handed over in. Only JavaScript's thread touches it.
    buffer: ReplyBuffer,
    /// The number of calls that are under way; changed by JavaScript's thread alone.
    under_way: AtomicUsize,
}

/// Wakes JavaScript; gone with its environment. JavaScript, once woken, does not wait for the thread that woke it.
struct Waker(sys::napi_threadsafe_function);

// SAFETY: a threadsafe function may be called from any thread for as long as it lives, which the queue's lock sees to.
unsafe impl Send for Waker {}
// SAFETY: and from several at a time.
unsafe impl Sync for Waker {}

impl Wake for Waker {
    fn wake(&self) {
        // SAFETY: it lives, because the queue drops it before it goes. An environment that is closing answers so, and
        // then comes for the replies itself.
        unsafe {
            sys::napi_call_threadsafe_function(self.0, ptr::null_mut(), sys::ThreadsafeFunctionCallMode::nonblocking);
        }
    }
}

/// The number of events that may wait for a thread that does not listen; further ones are dropped.
const MOST_EVENTS: usize = 100_000;

impl ReplyQueue {
    /// An empty queue; nothing wakes JavaScript yet.
    pub(crate) fn new(buffer: ReplyBuffer) -> Self {
        Self { replies: ffi::ReplyQueue::new(None), buffer, under_way: AtomicUsize::new(0) }
    }

    /// Has JavaScript woken by this function, which must live until the queue is closed.
    pub(crate) fn wake_by(&self, function: sys::napi_threadsafe_function) {
        self.replies.wake_by(Waker(function));
    }

    /// Queues a reply; returns it if the environment has ended.
    pub(crate) fn post(&self, reply: Reply) -> std::result::Result<(), Box<Reply>> {
        let most = if reply.is_event() { MOST_EVENTS } else { usize::MAX };
        self.replies.push_below(most, reply).map_err(Box::new)
    }

    /// A call begins whose answer will come in a reply: the environment stays alive for it.
    pub(crate) fn began(&self, env: sys::napi_env) {
        if self.under_way.fetch_add(1, Ordering::Relaxed) == 0 {
            self.keep_alive(env, true);
        }
    }

    /// So many of those calls are over.
    pub(crate) fn ended(&self, env: sys::napi_env, calls: usize) {
        if calls > 0 && self.under_way.fetch_sub(calls, Ordering::Relaxed) == calls {
            self.keep_alive(env, false);
        }
    }

    fn keep_alive(&self, env: sys::napi_env, keep: bool) {
        self.replies.with_waker(|Waker(function)| {
            // SAFETY: as in `wake`, on the thread of this environment.
            unsafe {
                if keep {
                    sys::napi_ref_threadsafe_function(env, *function);
                } else {
                    sys::napi_unref_threadsafe_function(env, *function);
                }
            }
        });
    }

    /// Hands over all that is there.
    pub(crate) fn deliver(&self, env: sys::napi_env, receiver: sys::napi_value) -> Result<()> {
        let replies = self.replies.take();
        self.ended(env, replies.iter().filter(|reply| !reply.is_event()).count());
        let mut replies = replies.into_iter().peekable();
        while replies.peek().is_some() {
            // SAFETY: this is JavaScript's thread, and JavaScript waits for this call.
            let mut page = unsafe { self.buffer.page(env) };
            while let Some(reply) = replies.peek() {
                if !page.has_room_for(reply) {
                    break;
                }
                replies.next().map_or(Ok(()), |reply| page.write(reply))?;
            }
            let (count, beside) = page.finish()?;
            let (mut this, mut answer) = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: the environment is that of this call, and all values were made in it.
            unsafe {
                let arguments = [f64::to_napi_value(env, count as f64)?, beside];
                check_status!(sys::napi_get_undefined(env, &raw mut this))?;
                let (length, arguments) = (arguments.len(), arguments.as_ptr());
                check_status!(sys::napi_call_function(env, this, receiver, length, arguments, &raw mut answer))?;
            }
        }
        Ok(())
    }

    /// Closes the queue, because its environment has ended.
    pub(crate) fn close(&self) {
        self.replies.close().into_iter().for_each(Reply::take_back);
    }
}
