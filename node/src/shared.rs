//! The frame that JavaScript and this addon share, and the bare functions over it.
//!
//! What is called for every request takes this way: a bare Node-API function costs a third of what one through napi-rs
//! does, and numbers in a typed array cost nothing to pass.

use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use napi::bindgen_prelude::{FromNapiValue, Object, ToNapiValue, Unknown};
use napi::{Env, Result, check_status, sys};
use napi_derive::napi;

use crate::ask::ask_one;
use crate::decide::{decide_one, limit_one};
use crate::failure::{Answered, Failure};
use crate::frame::{self, Frame, Small};
use crate::headers::x_values;
use crate::tables::{self, Tables};
use crate::text::{NotText, refused, with_text};
use crate::value::value;

/// What the functions here are made with, and so find without looking for it.
struct Shared {
    frame: *mut f64,
    small: *mut i32,
    tables: Rc<RefCell<Tables>>,
}

/// What a call works on.
struct Desk<'a> {
    frame: Frame<'a>,
    small: Small<'a>,
    tables: &'a RefCell<Tables>,
}

/// Adds `frame` and `small`, the arrays that are shared, and the functions that read and write them.
#[napi(module_exports)]
pub(crate) fn share_frame(mut exports: Object<'_>, env: Env) -> Result<()> {
    let bytes = frame::LENGTH * size_of::<f64>();
    let small_bytes = frame::SMALL_LENGTH * size_of::<i32>();
    let (mut data, mut buffer, mut array, mut kept) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let env = env.raw();
    let functions: [(&str, sys::napi_callback); 4] =
        [("limit", Some(limit)), ("decide", Some(decide)), ("ask", Some(ask)), ("xValues", Some(x_lines))];
    // SAFETY: every pointer outlives its call; the reference keeps the buffer, and so what is shared, for as long as the
    // environment lives. Nothing outside this package can get at the buffer to detach it.
    unsafe {
        check_status!(sys::napi_create_arraybuffer(env, bytes + small_bytes, &raw mut data, &raw mut buffer))?;
        check_status!(sys::napi_create_reference(env, buffer, 1, &raw mut kept))?;
        let small = data.byte_add(bytes).cast();
        let shared = Box::new(Shared { frame: data.cast(), small, tables: tables::of_this_thread() });
        let shared = Box::into_raw(shared).cast();
        let (hint, nobody) = (ptr::null_mut(), ptr::null_mut());
        check_status!(sys::napi_add_finalizer(env, buffer, shared, Some(forget), hint, nobody))?;
        let kind = sys::TypedarrayType::float64_array;
        check_status!(sys::napi_create_typedarray(env, kind, frame::LENGTH, buffer, 0, &raw mut array))?;
        exports.set("frame", Unknown::from_napi_value(env, array)?)?;
        let kind = sys::TypedarrayType::int32_array;
        check_status!(sys::napi_create_typedarray(env, kind, frame::SMALL_LENGTH, buffer, bytes, &raw mut array))?;
        exports.set("small", Unknown::from_napi_value(env, array)?)?;
        for (name, function) in functions {
            let (text, length, mut made) = (name.as_ptr().cast(), name.len().cast_signed(), ptr::null_mut());
            check_status!(sys::napi_create_function(env, text, length, function, shared, &raw mut made))?;
            exports.set(name, Unknown::from_napi_value(env, made)?)?;
        }
    }
    Ok(())
}

/// Runs when the environment ends, after which none of its functions is called.
unsafe extern "C" fn forget(_: sys::napi_env, shared: *mut c_void, _: *mut c_void) {
    // SAFETY: this is the box that `share_frame` left here, and this runs once.
    drop(unsafe { Box::from_raw(shared.cast::<Shared>()) });
}

/// `limit(actor)`: charges one unit at the clock's instant, as the small numbers say, and leaves the answer.
unsafe extern "C" fn limit(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let limit =
        |tables: &Tables, desk: &mut Desk<'_>, actor: &str| limit_one(tables, &mut desk.frame, &mut desk.small, actor);
    // SAFETY: this is the function that `share_frame` made.
    unsafe { call(env, info, |desk, actor| with_actor(env, desk, actor, |desk| desk.small.limit(), limit)) }
}

/// `decide(actor)`: decides the one check that the frame describes, and leaves the answer.
unsafe extern "C" fn decide(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let decide =
        |tables: &Tables, desk: &mut Desk<'_>, actor: &str| decide_one(tables, &mut desk.frame, &mut desk.small, actor);
    // SAFETY: this is the function that `share_frame` made.
    unsafe { call(env, info, |desk, actor| with_actor(env, desk, actor, |desk| desk.frame.limit(), decide)) }
}

/// `ask(actor)`: asks a store that others share for the one check that the frame describes; either the answer is left
/// there, or that it is yet to come.
unsafe extern "C" fn ask(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let ask = |tables: &Tables, desk: &mut Desk<'_>, actor: &str| ask_one(env, tables, &mut desk.frame, actor);
    // SAFETY: this is the function that `share_frame` made.
    unsafe { call(env, info, |desk, actor| with_actor(env, desk, actor, |desk| desk.frame.limit(), ask)) }
}

/// Calls `work` with the actor that is the argument of the call under way; `limit` says whose key an error names.
///
/// # Safety
/// Only for the environment and the argument of a call that is under way.
#[inline]
unsafe fn with_actor(
    env: sys::napi_env,
    desk: &mut Desk<'_>,
    actor: sys::napi_value,
    limit: impl FnOnce(&Desk<'_>) -> usize,
    work: impl FnOnce(&Tables, &mut Desk<'_>, &str) -> Answered<()>,
) -> Answered<sys::napi_value> {
    let tables = desk.tables;
    // SAFETY: environment and value are those of this call.
    let decided = unsafe { with_text(env, actor, |actor| work(&tables.borrow(), desk, actor)) };
    decided.unwrap_or_else(|problem| {
        // SAFETY: as above.
        Err(unsafe { no_actor(env, limit(desk), actor, problem) })
    })?;
    Ok(ptr::null_mut())
}

/// The error for an actor that is not text.
///
/// # Safety
/// As [`with_actor`].
#[cold]
#[inline(never)]
unsafe fn no_actor(env: sys::napi_env, limit: usize, actor: sys::napi_value, problem: NotText) -> Box<Failure> {
    // SAFETY: as the caller says.
    let given = unsafe { Unknown::from_napi_value(env, actor) }.and_then(|actor| value(&actor));
    given.map_or_else(
        |error| Failure::internal(&error.reason),
        |given| refused(problem, &tables::key(limit), "actor", given),
    )
}

/// `xValues()`: the values of the `X-RateLimit` fields of the answer in the frame, one on each line.
unsafe extern "C" fn x_lines(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let render = |desk: &mut Desk<'_>, _| {
        let lines = x_values(&desk.frame);
        // SAFETY: the environment is that of this call.
        unsafe { String::to_napi_value(env, lines) }.map_err(|error| Failure::internal(&error.reason))
    };
    // SAFETY: this is the function that `share_frame` made.
    unsafe { call(env, info, render) }
}

/// Calls `work` with the first argument; a failure, or a panic, is answered instead of what it answers.
///
/// # Safety
/// Only for a function that was made with what is shared as its data.
#[inline]
unsafe fn call(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    work: impl FnOnce(&mut Desk<'_>, sys::napi_value) -> Answered<sys::napi_value>,
) -> sys::napi_value {
    let answered = catch_unwind(AssertUnwindSafe(|| {
        let (mut count, mut argument, mut data) = (1, ptr::null_mut(), ptr::null_mut());
        // SAFETY: there is room for the one argument that is promised.
        unsafe {
            sys::napi_get_cb_info(env, info, &raw mut count, &raw mut argument, ptr::null_mut(), &raw mut data);
        }
        // SAFETY: the data is what this environment shares, until it ends.
        let Shared { frame, small, tables } = unsafe { &*data.cast::<Shared>() };
        // SAFETY: the arrays are so long, and do not overlap; JavaScript waits for this call.
        let (frame, small) = unsafe {
            (
                std::slice::from_raw_parts_mut(*frame, frame::LENGTH),
                std::slice::from_raw_parts_mut(*small, frame::SMALL_LENGTH),
            )
        };
        work(&mut Desk { frame: Frame(frame), small: Small(small), tables }, argument)
    }));
    let failure = match answered {
        Ok(Ok(answer)) => return answer,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::internal("the engine panicked"),
    };
    // SAFETY: the environment is that of this call.
    unsafe { Failure::to_napi_value(env, *failure) }.unwrap_or(ptr::null_mut())
}
