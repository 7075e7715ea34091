//! The frame that JavaScript and this addon share, and the bare functions over it.
//!
//! What is called for every request takes this way: a bare Node-API function costs a third of what one through napi-rs
//! does, and numbers in a typed array cost nothing to pass.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use napi::bindgen_prelude::{FromNapiValue, Object, ToNapiValue, Unknown};
use napi::{Env, Result, check_status, sys};
use napi_derive::napi;

use crate::ask::ask_one;
use crate::decide::{decide_few, decide_one, limit_one};
use crate::failure::{Answered, Failure};
use crate::frame::{self, FEW, Frame, Small};
use crate::tables::{self, Tables};
use crate::text::{NoActor, not_an_actor, with_actor_in};

/// What the functions here are made with, and so find without looking for it.
struct Shared {
    frame: *mut f64,
    small: *mut i32,
    tables: Rc<RefCell<Tables>>,
    /// The actors of a call of a few checks, one after the other; empty between two calls.
    names: RefCell<String>,
    calls: Cell<u32>,
}

/// What a call works on.
struct Desk<'a> {
    frame: Frame<'a>,
    small: Small<'a>,
    tables: &'a RefCell<Tables>,
    names: &'a RefCell<String>,
    calls: &'a Cell<u32>,
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
        [("limit", Some(limit)), ("decide", Some(decide)), ("decideFew", Some(few)), ("ask", Some(ask))];
    // SAFETY: every pointer outlives its call; the reference keeps the buffer, and so what is shared, for as long as the
    // environment lives. Nothing outside this package can get at the buffer to detach it.
    unsafe {
        check_status!(sys::napi_create_arraybuffer(env, bytes + small_bytes, &raw mut data, &raw mut buffer))?;
        check_status!(sys::napi_create_reference(env, buffer, 1, &raw mut kept))?;
        let small = data.byte_add(bytes).cast();
        let (tables, names, calls) = (tables::of_this_thread(), RefCell::default(), Cell::default());
        let shared = Box::new(Shared { frame: data.cast(), small, tables, names, calls });
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
    unsafe { call::<1>(env, info, |desk, actors| with_actor(env, desk, actors[0], limit)) }
}

/// `decide(actor)`: decides the one check that the frame describes, and leaves the answer.
unsafe extern "C" fn decide(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let decide =
        |tables: &Tables, desk: &mut Desk<'_>, actor: &str| decide_one(tables, &mut desk.frame, &mut desk.small, actor);
    // SAFETY: this is the function that `share_frame` made.
    unsafe { call::<1>(env, info, |desk, actors| with_actor(env, desk, actors[0], decide)) }
}

/// `ask(actor)`: asks a store that others share for the one check that the frame describes; either the answer is left
/// there, or that it is yet to come.
unsafe extern "C" fn ask(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let ask = |tables: &Tables, desk: &mut Desk<'_>, actor: &str| ask_one(env, tables, &mut desk.frame, actor);
    // SAFETY: this is the function that `share_frame` made.
    unsafe { call::<1>(env, info, |desk, actors| with_actor(env, desk, actors[0], ask)) }
}

/// `decideFew(actor, …)`: decides the few checks that the frame describes, of one actor or of one each, and leaves the
/// answer.
unsafe extern "C" fn few(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let decide = |desk: &mut Desk<'_>, actors: &[sys::napi_value]| {
        let mut names = desk.names.take();
        names.clear();
        let (mut ends, tables) = ([0; FEW], desk.tables);
        for (index, actor) in actors.iter().enumerate() {
            let push = |actor: &str, _: &mut Desk<'_>| {
                names.push_str(actor);
                Ok(())
            };
            // SAFETY: environment and value are those of this call.
            unsafe { with_actor_text(env, desk, index, *actor, push)? };
            ends[index] = names.len();
        }
        let name = |index: usize| {
            let index = index.min(actors.len().saturating_sub(1));
            let start = if index == 0 { 0 } else { ends[index - 1] };
            &names[start..ends[index]]
        };
        let tables = tables.borrow();
        weigh(env, desk, &tables);
        let decided = decide_few(&tables, &mut desk.frame, &mut desk.small, name);
        desk.names.replace(names);
        decided.map(|()| ptr::null_mut())
    };
    // SAFETY: this is the function that `share_frame` made.
    unsafe { call::<FEW>(env, info, decide) }
}

/// Calls `work` with the actor that is the argument of the call under way.
///
/// # Safety
/// Only for the environment and the argument of a call that is under way.
#[inline]
unsafe fn with_actor(
    env: sys::napi_env,
    desk: &mut Desk<'_>,
    actor: sys::napi_value,
    work: impl FnOnce(&Tables, &mut Desk<'_>, &str) -> Answered<()>,
) -> Answered<sys::napi_value> {
    let tables = desk.tables;
    let decide = |actor: &str, desk: &mut Desk<'_>| {
        let tables = tables.borrow();
        weigh(env, desk, &tables);
        work(&tables, desk, actor)
    };
    // SAFETY: as the caller says.
    unsafe { with_actor_text(env, desk, 0, actor, decide)? };
    Ok(ptr::null_mut())
}

/// Calls `work` with an actor; an error names the limit of the check with this index.
///
/// # Safety
/// As [`with_actor`].
#[inline]
unsafe fn with_actor_text(
    env: sys::napi_env,
    desk: &mut Desk<'_>,
    check: usize,
    actor: sys::napi_value,
    work: impl FnOnce(&str, &mut Desk<'_>) -> Answered<()>,
) -> Answered<()> {
    // SAFETY: environment and value are those of this call.
    let decided = unsafe { with_actor_in(env, actor, |actor| work(actor, desk)) };
    decided.unwrap_or_else(|problem| {
        // SAFETY: as above.
        Err(unsafe { no_actor(env, desk.frame.check(check).limit, actor, problem) })
    })
}

/// The error for an actor that cannot be one.
///
/// # Safety
/// As [`with_actor`].
#[cold]
#[inline(never)]
unsafe fn no_actor(env: sys::napi_env, limit: f64, actor: sys::napi_value, problem: NoActor) -> Box<Failure> {
    // SAFETY: as the caller says.
    let given = unsafe { Unknown::from_napi_value(env, actor) };
    given.map_or_else(
        |error| Failure::internal(&error.reason),
        |given| not_an_actor(problem, &tables::key(limit), &given),
    )
}

/// How many calls come between two looks at what a limiter weighs.
const CALLS_PER_WEIGHING: u32 = 4096;

/// Every so many calls, V8 is told what the limiter of this call weighs: those that grow are called most.
#[inline]
fn weigh(env: sys::napi_env, desk: &Desk<'_>, tables: &Tables) {
    let calls = desk.calls.get().wrapping_add(1);
    desk.calls.set(calls);
    if calls.is_multiple_of(CALLS_PER_WEIGHING)
        && let Some(limiter) = tables.limiters.get(desk.frame.limiter())
    {
        limiter.weigh(env);
    }
}

/// Calls `work` with the first arguments, at most so many; a failure, or a panic, is answered instead of what it answers.
///
/// # Safety
/// Only for a function that was made with what is shared as its data.
#[inline]
unsafe fn call<const N: usize>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    work: impl FnOnce(&mut Desk<'_>, &[sys::napi_value]) -> Answered<sys::napi_value>,
) -> sys::napi_value {
    let answered = catch_unwind(AssertUnwindSafe(|| {
        let (mut count, mut arguments, mut data) = (N, [ptr::null_mut(); N], ptr::null_mut());
        // SAFETY: there is room for as many arguments as are promised.
        unsafe {
            let first = arguments.as_mut_ptr();
            sys::napi_get_cb_info(env, info, &raw mut count, first, ptr::null_mut(), &raw mut data);
        }
        // SAFETY: the data is what this environment shares, until it ends.
        let Shared { frame, small, tables, names, calls } = unsafe { &*data.cast::<Shared>() };
        // SAFETY: the arrays are so long, and do not overlap; JavaScript waits for this call.
        let (frame, small) = unsafe {
            (
                std::slice::from_raw_parts_mut(*frame, frame::LENGTH),
                std::slice::from_raw_parts_mut(*small, frame::SMALL_LENGTH),
            )
        };
        // What is missing is `undefined`.
        let given = &arguments[..count.clamp(1, N)];
        work(&mut Desk { frame: Frame(frame), small: Small(small), tables, names, calls }, given)
    }));
    let failure = match answered {
        Ok(Ok(answer)) => return answer,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::internal("the engine panicked"),
    };
    // SAFETY: the environment is that of this call.
    unsafe { Failure::to_napi_value(env, *failure) }.unwrap_or(ptr::null_mut())
}
