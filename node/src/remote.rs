//! The calls to a shared store: an answer that is known at once is left in the call buffer, any other comes as a reply.

use std::cell::RefCell;
use std::sync::Arc;

use napi::bindgen_prelude::{Float64Array, Unknown};
use napi::{Env, sys};
use napi_derive::napi;
use tidegate::ffi::UnsentCall;
use tidegate::{Call, Check, Error, LimitInfo, Limiter, ffi};

use crate::buffer::CallBuffer;
use crate::calls::{Spending, asked, call, call_of, check, first_key, names};
use crate::errors::{Answered, Failure};
use crate::outbox::Outbox;
use crate::queue::ReplyQueue;
use crate::registry::{self, Registry};
use crate::reply::{Content, Reply};

type Answer = Result<LimitInfo, Error>;

thread_local! {
    /// The place of an answer that is there before its call has been sent on its way.
    static AT_ONCE: RefCell<AtOnce> = const { RefCell::new(AtOnce::Closed) };
}

enum AtOnce {
    /// No call is being started on this thread.
    Closed,
    /// This call is. The thread may meet the answers of others as well.
    Empty(CallId),
    Taken(Answer),
}

/// The reply queue of a call, and the number of the call there.
type CallId = (usize, u64);

/// A call to a shared store, its checks left out.
struct RemoteCall<'a> {
    env: sys::napi_env,
    limiter: &'a Limiter,
    queue: &'a Arc<ReplyQueue>,
    outbox: &'a RefCell<Outbox>,
    /// The number of the call.
    to: f64,
    now: Option<f64>,
}

impl<'a> RemoteCall<'a> {
    fn new(env: sys::napi_env, registry: &'a Registry, buffer: &CallBuffer<'_>) -> Answered<Self> {
        Ok(Self {
            env,
            limiter: registry.limiters.get(buffer.limiter()).ok_or_else(Failure::closed)?,
            queue: registry.queues.get(buffer.queue()).ok_or_else(|| Failure::internal("no such queue"))?,
            outbox: &registry.outbox,
            to: buffer.id(),
            now: buffer.now(),
        })
    }

    /// Asks; either the answer is known at once, or it comes in a reply.
    fn ask(&self, key: &str, checks: &[Check<'_>], call: Call) -> Answered<Option<Answer>> {
        let now = self.now.map(|now| ffi::instant(key, now)).transpose()?;
        let (to, replies) = (self.to, self.queue.clone());
        let call_id: CallId = (Arc::as_ptr(self.queue).addr(), to.to_bits());
        let done = move |answer| {
            let answer = AT_ONCE.with_borrow_mut(|place| match place {
                AtOnce::Empty(asking) if *asking == call_id => {
                    *place = AtOnce::Taken(answer);
                    None
                }
                _ => Some(answer),
            });
            let Some(answer) = answer else { return Ok(()) };
            replies.post(Reply { to, content: Content::Answer(answer) }).map_err(|reply| reply.answer())
        };
        let known = match ffi::hold(self.limiter, checks, call, now, done) {
            Ok(answer) => Some(answer),
            Err(unsent) => self.send(unsent, call_id),
        };
        if known.is_none() {
            self.queue.began(self.env);
        }
        Ok(known)
    }

    /// Sends a call, alone or at the end of this iteration; the answer, if it is known before the call is sent.
    fn send(&self, unsent: UnsentCall, call_id: CallId) -> Option<Answer> {
        let mut outbox = self.outbox.borrow_mut();
        if outbox.waits() {
            outbox.push(unsent);
            return None;
        }
        AT_ONCE.set(AtOnce::Empty(call_id));
        unsent.send();
        if let AtOnce::Taken(answer) = AT_ONCE.replace(AtOnce::Closed) {
            return Some(answer);
        }
        outbox.sent_one();
        None
    }
}

/// Sends the calls that have waited for the end of this iteration of the event loop.
#[napi(catch_unwind)]
pub(crate) fn end_iteration() {
    registry::with(|registry| registry.outbox.borrow_mut().end_iteration());
}

/// Leaves an answer that is known at once in the call buffer, or marks it as still to come.
fn leave(buffer: &mut CallBuffer<'_>, known: Option<Answer>) -> Answered<()> {
    if let Some(info) = known {
        return buffer.answer(&info?);
    }
    buffer.pending();
    Ok(())
}

/// Asks for the one check that the call buffer describes.
pub(crate) fn ask_one(
    env: sys::napi_env,
    registry: &Registry,
    buffer: &mut CallBuffer<'_>,
    actor: &str,
) -> Answered<()> {
    let remote = RemoteCall::new(env, registry, buffer)?;
    let check = check(registry, buffer, 0, actor)?;
    let call = call(buffer, check.key())?;
    let known = remote.ask(check.key(), &[check], call)?;
    leave(buffer, known)
}

/// Asks for several checks together: one actor for each; for a receipt with what was spent.
#[napi(catch_unwind)]
pub(crate) fn ask_several(
    env: Env,
    mut buffer: Float64Array,
    actors: Vec<Unknown<'_>>,
    #[napi(ts_arg_type = "number | number[]")] spent: Spending,
) -> Option<Failure> {
    // SAFETY: JavaScript waits for this call, so nothing else reads or writes the call buffer meanwhile.
    let mut buffer = CallBuffer(unsafe { buffer.as_mut() });
    let asked = names(&buffer, &actors).and_then(|names| ask_together(env.raw(), &mut buffer, &names, &spent));
    asked.err().map(|failure| *failure)
}

fn ask_together(env: sys::napi_env, buffer: &mut CallBuffer<'_>, actors: &[String], spent: &Spending) -> Answered<()> {
    registry::with(|registry| {
        let remote = RemoteCall::new(env, registry, buffer)?;
        let (_, mut checks) = asked(registry, buffer, actors)?;
        let key = first_key(&checks);
        let call = call_of(buffer, key, &mut checks, spent)?;
        let known = remote.ask(key, &checks, call)?;
        leave(buffer, known)
    })
}

/// Asks for the explanation of several checks together.
#[napi(catch_unwind)]
pub(crate) fn ask_why(env: Env, mut buffer: Float64Array, actors: Vec<Unknown<'_>>) -> Option<Failure> {
    // SAFETY: as above.
    let mut buffer = CallBuffer(unsafe { buffer.as_mut() });
    let asked = names(&buffer, &actors).and_then(|names| why(env.raw(), &mut buffer, &names));
    asked.err().map(|failure| *failure)
}

fn why(env: sys::napi_env, buffer: &mut CallBuffer<'_>, actors: &[String]) -> Answered<()> {
    registry::with(|registry| {
        let remote = RemoteCall::new(env, registry, buffer)?;
        let (_, checks) = asked(registry, buffer, actors)?;
        let now = remote.now.map(|now| ffi::instant(first_key(&checks), now)).transpose()?;
        let (to, replies) = (remote.to, remote.queue.clone());
        let explain = move |explanation| {
            // An undelivered explanation has charged nothing.
            let _ = replies.post(Reply { to, content: Content::Explained(explanation) });
        };
        remote.outbox.borrow_mut().send();
        ffi::start_explain(remote.limiter, &checks, now, explain);
        remote.queue.began(env);
        buffer.pending();
        Ok(())
    })
}
