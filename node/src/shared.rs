//! The frame that JavaScript and this addon share, and the bare functions over it.
//!
//! What is called for every request takes this way: a bare Node-API function costs a third of what one through napi-rs
//! does, and numbers in a typed array cost nothing to pass.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use napi::bindgen_prelude::{FromNapiValue, Object, ToNapiValue, Unknown};
use napi::{Env, Result, check_status, sys};
use napi_derive::napi;

use crate::ask::ask_one;
use crate::decide::decide_one;
use crate::failure::{Answered, Failure};
use crate::frame::{self, Frame};
use crate::headers::x_fields;
use crate::text::{refused, with_text};
use crate::value::value;

/// Adds `frame`, the array that is shared, and the functions that read and write it.
#[napi(module_exports)]
pub(crate) fn share_frame(mut exports: Object<'_>, env: Env) -> Result<()> {
    let bytes = frame::LENGTH * size_of::<f64>();
    let (mut data, mut buffer, mut array, mut kept) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let env = env.raw();
    let functions: [(&str, sys::napi_callback); 3] =
        [("decide", Some(decide)), ("ask", Some(ask)), ("xHeaders", Some(x_headers))];
    // SAFETY: every pointer outlives its call; the reference keeps the buffer, and so `data`, for as long as the
    // environment lives. Nothing outside this package can get at the buffer to detach it.
    unsafe {
        check_status!(sys::napi_create_arraybuffer(env, bytes, &raw mut data, &raw mut buffer))?;
        check_status!(sys::napi_create_reference(env, buffer, 1, &raw mut kept))?;
        let kind = sys::TypedarrayType::float64_array;
        check_status!(sys::napi_create_typedarray(env, kind, frame::LENGTH, buffer, 0, &raw mut array))?;
        exports.set("frame", Unknown::from_napi_value(env, array)?)?;
        for (name, function) in functions {
            let (text, length, mut made) = (name.as_ptr().cast(), name.len().cast_signed(), ptr::null_mut());
            check_status!(sys::napi_create_function(env, text, length, function, data, &raw mut made))?;
            exports.set(name, Unknown::from_napi_value(env, made)?)?;
        }
    }
    Ok(())
}

/// `decide(actor)`: decides the one check that the frame describes, and leaves the answer there.
unsafe extern "C" fn decide(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: this is the function that `share_frame` made.
    unsafe { call(env, info, |frame, actor| with_actor(env, frame, actor, decide_one)) }
}

/// `ask(actor)`: asks a store that others share for the one check that the frame describes; either the answer is left
/// there, or that it is yet to come.
unsafe extern "C" fn ask(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let ask = |frame: &mut Frame<'_>, actor: &str| ask_one(env, frame, actor);
    // SAFETY: this is the function that `share_frame` made.
    unsafe { call(env, info, |frame, actor| with_actor(env, frame, actor, ask)) }
}

/// Calls `work` with the frame and the actor that is the argument of the call under way.
///
/// # Safety
/// Only for the environment and the argument of a call that is under way.
#[inline]
unsafe fn with_actor(
    env: sys::napi_env,
    frame: &mut Frame<'_>,
    actor: sys::napi_value,
    work: impl FnOnce(&mut Frame<'_>, &str) -> Answered<()>,
) -> Answered<sys::napi_value> {
    // SAFETY: environment and value are those of this call.
    let decided = unsafe { with_text(env, actor, |actor| work(frame, actor)) };
    decided.unwrap_or_else(|problem| {
        // SAFETY: as above.
        let given = unsafe { Unknown::from_napi_value(env, actor) }.and_then(|actor| value(&actor));
        let given = given.map_err(|error| Failure::internal(&error.reason))?;
        Err(refused(problem, &frame.key(0), "actor", given))
    })?;
    Ok(ptr::null_mut())
}

/// `xHeaders()`: the `X-RateLimit` fields of the answer in the frame, a name or a value on each line.
unsafe extern "C" fn x_headers(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let render = |frame: &mut Frame<'_>, _| {
        let lines = x_fields(frame);
        // SAFETY: the environment is that of this call.
        unsafe { String::to_napi_value(env, lines) }.map_err(|error| Failure::internal(&error.reason))
    };
    // SAFETY: this is the function that `share_frame` made.
    unsafe { call(env, info, render) }
}

/// Calls `work` with the frame and the first argument; a failure, or a panic, is answered instead of what it answers.
///
/// # Safety
/// Only for a function that was made with the frame as its data.
#[inline]
unsafe fn call(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    work: impl FnOnce(&mut Frame<'_>, sys::napi_value) -> Answered<sys::napi_value>,
) -> sys::napi_value {
    let answered = catch_unwind(AssertUnwindSafe(|| {
        let (mut count, mut argument, mut data) = (1, ptr::null_mut(), ptr::null_mut());
        // SAFETY: there is room for the one argument that is promised.
        unsafe {
            sys::napi_get_cb_info(env, info, &raw mut count, &raw mut argument, ptr::null_mut(), &raw mut data);
        }
        // SAFETY: the data is the frame of this environment, `LENGTH` long; JavaScript waits for this call.
        let mut frame = Frame(unsafe { std::slice::from_raw_parts_mut(data.cast(), frame::LENGTH) });
        work(&mut frame, argument)
    }));
    let failure = match answered {
        Ok(Ok(answer)) => return answer,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::internal("the engine panicked"),
    };
    // SAFETY: the environment is that of this call.
    unsafe { Failure::to_napi_value(env, *failure) }.unwrap_or(ptr::null_mut())
}
