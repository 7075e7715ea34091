//! Opening the reply queue of an environment, and emptying it.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use napi::bindgen_prelude::{Function, ToNapiValue, Unknown, retain_current_module_for_unload_safety};
use napi::{Env, JsValue, Result, check_status, sys};
use napi_derive::napi;

use crate::queue::ReplyQueue;
use crate::registry;
use crate::reply_buffer::ReplyBuffer;

/// A reply queue as JavaScript knows it.
#[napi(object, object_from_js = false)]
pub(crate) struct OpenedQueue<'a> {
    /// Its number.
    pub queue: f64,
    /// The typed array that answers are handed over in.
    #[napi(ts_type = "Float64Array")]
    pub buffer: Unknown<'a>,
}

/// Opens a reply queue; `wake` is called when there is something in it. One is enough for all limiters of an
/// environment.
#[napi(catch_unwind)]
pub(crate) fn open_queue<'a>(env: Env, wake: Function<'a, Unknown<'a>, Unknown<'a>>) -> Result<OpenedQueue<'a>> {
    // The thread that talks to stores outlives every environment, and with it must this code.
    retain_current_module_for_unload_safety();
    // SAFETY: the environment is that of this call.
    let (buffer, array) = unsafe { ReplyBuffer::new(env.raw()) }?;
    let queue = Arc::new(ReplyQueue::new(buffer));
    let context = Arc::into_raw(queue.clone()).cast_mut().cast::<c_void>();
    let mut function = ptr::null_mut();
    // SAFETY: the context is a reference of its own to the queue, which `forget` gives up as the last one to use it.
    unsafe {
        let name = <&str>::to_napi_value(env.raw(), "tidegate")?;
        check_status!(sys::napi_create_threadsafe_function(
            env.raw(),
            wake.value().value,
            ptr::null_mut(),
            name,
            0,
            1,
            context,
            Some(forget),
            context,
            Some(woken),
            &raw mut function,
        ))?;
        // Until a call is under way there is nothing to wait for.
        check_status!(sys::napi_unref_threadsafe_function(env.raw(), function))?;
    }
    queue.wake_by(function);
    let handle = registry::change(|registry| registry.queues.add(queue));
    Ok(OpenedQueue { queue: handle, buffer: array })
}

/// Runs on JavaScript's thread when it was woken.
unsafe extern "C" fn woken(env: sys::napi_env, wake: sys::napi_value, _: *mut c_void, _: *mut c_void) {
    // An environment that is closing gets no replies; `forget` takes care of them.
    if env.is_null() || wake.is_null() {
        return;
    }
    let (mut this, mut answer) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the environment is that of this call. What JavaScript throws stays pending and is reported by Node.
    unsafe {
        sys::napi_get_undefined(env, &raw mut this);
        sys::napi_call_function(env, this, wake, 0, ptr::null(), &raw mut answer);
    }
}

/// Delivers all replies in a queue: `receive` gets the count of records in the reply buffer, and the values beside them.
#[napi(catch_unwind)]
pub(crate) fn drain_queue<'a>(env: Env, queue: f64, receive: Function<'a, Unknown<'a>, Unknown<'a>>) -> Result<()> {
    match registry::with(|registry| registry.queues.get(queue).cloned()) {
        Some(queue) => queue.deliver(env.raw(), receive.value().value),
        None => Ok(()),
    }
}

/// Runs when the environment ends, right before the threadsafe function goes.
unsafe extern "C" fn forget(_: sys::napi_env, context: *mut c_void, _: *mut c_void) {
    // SAFETY: this is the reference that `open_queue` left here, and this runs once.
    let queue = unsafe { Arc::from_raw(context.cast::<ReplyQueue>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // A call that was not sent charges nothing.
        drop(registry::with(|registry| registry.outbox.take()));
        queue.close();
    }));
}
