//! Acquires of a shared store; the engine does the sleeping.

use napi::Env;
use napi::bindgen_prelude::{Either, Float64Array, Unknown};
use napi_derive::napi;
use tidegate::ffi;

use crate::acquire::AcquireHandle;
use crate::buffer::CallBuffer;
use crate::calls::{asked, first_key, max_wait, names};
use crate::errors::{Answered, Failure};
use crate::layout::call;
use crate::numbers::index;
use crate::registry;
use crate::reply::{Content, Reply};

/// Begins to wait with the checks in the call buffer, one actor for each; returns the number of the handle that cancels
/// it. The answer comes in a reply.
#[napi(catch_unwind)]
pub(crate) fn start_acquire(env: Env, mut buffer: Float64Array, actors: Vec<Unknown<'_>>) -> Either<f64, Failure> {
    // SAFETY: JavaScript waits for this call, so nothing else reads or writes the call buffer meanwhile.
    let buffer = CallBuffer(unsafe { buffer.as_mut() });
    let started = names(&buffer, &actors).and_then(|names| start(env, &buffer, &names));
    started.map_or_else(
        |failure| Either::B(*failure),
        |handle| Either::A(registry::change(|registry| registry.handles.add(handle))),
    )
}

fn start(env: Env, buffer: &CallBuffer<'_>, actors: &[String]) -> Answered<AcquireHandle> {
    registry::with(|registry| {
        let (limiter, checks) = asked(registry, buffer, actors)?;
        let queue = registry.queues.get(buffer.queue()).ok_or_else(Failure::closed)?;
        let key = first_key(&checks);
        let max_wait = max_wait(buffer, key)?;
        let mut acquire = limiter.start_acquire(&checks, max_wait);
        if index(buffer.call()) == call::LIMIT {
            acquire = acquire.at_once();
        }
        if let Some(now) = buffer.now() {
            acquire = acquire.at(ffi::instant(key, now)?);
        }
        let (to, replies) = (buffer.id(), queue.clone());
        registry.outbox.borrow_mut().send();
        let handle = acquire.spawn(move |answer, handle| {
            let undelivered = replies.post(Reply { to, content: Content::Acquired(answer, handle) });
            if let Err(reply) = undelivered {
                reply.take_back();
            }
        });
        let handle = handle.map_err(|error| Failure::internal(&format!("cannot start a thread: {error}")))?;
        queue.began(env.raw());
        Ok(AcquireHandle(handle))
    })
}

/// Cancels an acquire, which gives its charge back; true if a reply still comes, which is empty then.
#[napi(catch_unwind)]
pub(crate) fn cancel_acquire(env: Env, queue: f64, handle: f64) -> bool {
    let Some(handle) = registry::change(|registry| registry.handles.remove(handle)) else { return false };
    let comes = handle.0.cancel();
    if !comes {
        registry::with(|registry| {
            if let Some(queue) = registry.queues.get(queue) {
                queue.ended(env.raw(), 1);
            }
        });
    }
    comes
}

/// Frees the number of an acquire that was answered.
#[napi(catch_unwind)]
pub(crate) fn free_acquire(handle: f64) {
    drop(registry::change(|registry| registry.handles.remove(handle)));
}
