//! The bare functions over the buffers that JavaScript and this addon share.
//!
//! Every request takes this way: a bare Node-API function costs a third of what one through napi-rs
//! does, and numbers in a typed array cost nothing to pass.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::rc::Rc;

use napi::bindgen_prelude::{FromNapiValue, Object, ToNapiValue, Unknown};
use napi::{Env, Result, check_status, sys};
use napi_derive::napi;

use crate::buffer::{self, CallBuffer, FastBuffer};
use crate::calls::{decide_few, decide_one, limit_one};
use crate::errors::{Answered, Failure};
use crate::layout::MOST_CHECKS;
use crate::registry::{self, Registry};
use crate::remote::ask_one;
use crate::text::{NoActor, not_an_actor, with_actor_in};

/// The data that the functions here are made with, and so find without looking for it.
struct Shared {
    buffer: *mut f64,
    fast: *mut i32,
    registry: Rc<RefCell<Registry>>,
    /// The actors of a call of a few checks, one after the other; empty between two calls.
    names: RefCell<String>,
    calls: Cell<u32>,
}

/// The same during one call.
struct HotPath<'a> {
    buffer: CallBuffer<'a>,
    fast: FastBuffer<'a>,
    registry: &'a RefCell<Registry>,
    names: &'a RefCell<String>,
    calls: &'a Cell<u32>,
}

/// Adds `callBuffer` and `fastBuffer`, the arrays that are shared, and the functions that read and write them.
#[napi(module_exports)]
pub(crate) fn share_buffers(mut exports: Object<'_>, env: Env) -> Result<()> {
    let bytes = buffer::LENGTH * size_of::<f64>();
    let fast_bytes = buffer::FAST_LENGTH * size_of::<i32>();
    let (mut data, mut memory, mut array, mut kept) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let env = env.raw();
    let functions: [(&str, sys::napi_callback); 4] =
        [("limit", Some(limit)), ("decide", Some(decide)), ("decideFew", Some(few)), ("ask", Some(ask))];
    // SAFETY: every pointer outlives its call; the reference keeps the memory, and so the shared data, for as long as
    // the environment lives. Nothing outside this package can get at the memory to detach it.
    unsafe {
        check_status!(sys::napi_create_arraybuffer(env, bytes + fast_bytes, &raw mut data, &raw mut memory))?;
        check_status!(sys::napi_create_reference(env, memory, 1, &raw mut kept))?;
        let fast = data.byte_add(bytes).cast();
        let (registry, names, calls) = (registry::of_this_thread(), RefCell::default(), Cell::default());
        let shared = Box::new(Shared { buffer: data.cast(), fast, registry, names, calls });
        let shared = Box::into_raw(shared).cast();
        let (hint, no_reference) = (ptr::null_mut(), ptr::null_mut());
        check_status!(sys::napi_add_finalizer(env, memory, shared, Some(forget), hint, no_reference))?;
        let kind = sys::TypedarrayType::float64_array;
        check_status!(sys::napi_create_typedarray(env, kind, buffer::LENGTH, memory, 0, &raw mut array))?;
        exports.set("callBuffer", Unknown::from_napi_value(env, array)?)?;
        let kind = sys::TypedarrayType::int32_array;
        check_status!(sys::napi_create_typedarray(env, kind, buffer::FAST_LENGTH, memory, bytes, &raw mut array))?;
        exports.set("fastBuffer", Unknown::from_napi_value(env, array)?)?;
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
    // SAFETY: this is the box that `share_buffers` left here, and this runs once.
    drop(unsafe { Box::from_raw(shared.cast::<Shared>()) });
}

/// `limit(actor)`: charges one unit of the limit in the call buffer at the clock's instant, and leaves the answer.
unsafe extern "C" fn limit(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let limit = |registry: &Registry, path: &mut HotPath<'_>, actor: &str| {
        limit_one(registry, &mut path.buffer, &mut path.fast, actor)
    };
    // SAFETY: this is the function that `share_buffers` made.
    unsafe { call::<1>(env, info, |path, actors| with_actor(env, path, actors[0], limit)) }
}

/// `decide(actor)`: decides the one check that the call buffer describes, and leaves the answer.
unsafe extern "C" fn decide(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let decide = |registry: &Registry, path: &mut HotPath<'_>, actor: &str| {
        decide_one(registry, &mut path.buffer, &mut path.fast, actor)
    };
    // SAFETY: this is the function that `share_buffers` made.
    unsafe { call::<1>(env, info, |path, actors| with_actor(env, path, actors[0], decide)) }
}

/// `ask(actor)`: asks a shared store for the one check that the call buffer describes; leaves the answer, or that it is
/// yet to come.
unsafe extern "C" fn ask(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let ask =
        |registry: &Registry, path: &mut HotPath<'_>, actor: &str| ask_one(env, registry, &mut path.buffer, actor);
    // SAFETY: this is the function that `share_buffers` made.
    unsafe { call::<1>(env, info, |path, actors| with_actor(env, path, actors[0], ask)) }
}

/// `decideFew(actor, …)`: decides the few checks that the call buffer describes, of one actor or of one each, and
/// leaves the answer.
unsafe extern "C" fn few(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let decide = |path: &mut HotPath<'_>, actors: &[sys::napi_value]| {
        // One actor or two, as nearly always, need not be copied.
        match *actors {
            // SAFETY: environment and values are those of this call.
            [actor] => unsafe { with_actor_text(env, path, 0, actor, |actor, path| decide_named(env, path, &[actor])) },
            // SAFETY: as above.
            [first, second] => unsafe {
                with_actor_text(env, path, 0, first, |first, path| {
                    with_actor_text(env, path, 1, second, |second, path| decide_named(env, path, &[first, second]))
                })
            },
            // SAFETY: as above.
            _ => unsafe { decide_many(env, path, actors) },
        }
        .map(|()| ptr::null_mut())
    };
    // SAFETY: this is the function that `share_buffers` made.
    unsafe { call::<MOST_CHECKS>(env, info, decide) }
}

/// Decides a few checks with an actor for each, whose names are copied one behind the other.
///
/// # Safety
/// As [`with_actor`].
#[inline(never)]
unsafe fn decide_many(env: sys::napi_env, path: &mut HotPath<'_>, actors: &[sys::napi_value]) -> Answered<()> {
    let mut names = path.names.take();
    names.clear();
    let mut ends = [0; MOST_CHECKS];
    for (index, actor) in actors.iter().enumerate() {
        let push = |actor: &str, _: &mut HotPath<'_>| {
            names.push_str(actor);
            Ok(())
        };
        // SAFETY: as the caller says.
        unsafe { with_actor_text(env, path, index, *actor, push)? };
        ends[index] = names.len();
    }
    let mut each = [""; MOST_CHECKS];
    for index in 0..actors.len() {
        let start = if index == 0 { 0 } else { ends[index - 1] };
        each[index] = &names[start..ends[index]];
    }
    let decided = decide_named(env, path, &each[..actors.len()]);
    path.names.replace(names);
    decided
}

#[inline(never)]
fn decide_named(env: sys::napi_env, path: &mut HotPath<'_>, actors: &[&str]) -> Answered<()> {
    let registry = path.registry.borrow();
    weigh(env, path, &registry);
    decide_few(&registry, &mut path.buffer, &mut path.fast, actors)
}

/// Calls `work` with the actor that is the argument of the call under way.
///
/// # Safety
/// Only for the environment and the argument of a call that is under way.
#[inline]
unsafe fn with_actor(
    env: sys::napi_env,
    path: &mut HotPath<'_>,
    actor: sys::napi_value,
    work: impl FnOnce(&Registry, &mut HotPath<'_>, &str) -> Answered<()>,
) -> Answered<sys::napi_value> {
    let registry = path.registry;
    let decide = |actor: &str, path: &mut HotPath<'_>| {
        let registry = registry.borrow();
        weigh(env, path, &registry);
        work(&registry, path, actor)
    };
    // SAFETY: as the caller says.
    unsafe { with_actor_text(env, path, 0, actor, decide)? };
    Ok(ptr::null_mut())
}

/// Calls `work` with an actor; an error names the limit of the check with this index.
///
/// # Safety
/// As [`with_actor`].
#[inline]
unsafe fn with_actor_text(
    env: sys::napi_env,
    path: &mut HotPath<'_>,
    check: usize,
    actor: sys::napi_value,
    work: impl FnOnce(&str, &mut HotPath<'_>) -> Answered<()>,
) -> Answered<()> {
    // SAFETY: environment and value are those of this call.
    let decided = unsafe { with_actor_in(env, actor, |actor| work(actor, path)) };
    decided.unwrap_or_else(|problem| {
        // SAFETY: as above.
        Err(unsafe { no_actor(env, path.buffer.check(check).limit, actor, problem) })
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
        |given| not_an_actor(problem, &registry::key(limit), &given),
    )
}

/// The number of calls between two looks at a limiter's weight.
const CALLS_PER_WEIGHING: u32 = 4096;

/// Reports to V8 the weight of this call's limiter, every so many calls: those that grow are called most.
#[inline]
fn weigh(env: sys::napi_env, path: &HotPath<'_>, registry: &Registry) {
    let calls = path.calls.get().wrapping_add(1);
    path.calls.set(calls);
    if calls.is_multiple_of(CALLS_PER_WEIGHING)
        && let Some(limiter) = registry.limiters.get(path.buffer.limiter())
    {
        limiter.weigh(env);
    }
}

/// Calls `work` with the first arguments, at most so many; a failure, or a panic, is answered instead of what it
/// answers.
///
/// # Safety
/// Only for a function that was made with the shared data.
#[inline]
unsafe fn call<const N: usize>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
    work: impl FnOnce(&mut HotPath<'_>, &[sys::napi_value]) -> Answered<sys::napi_value>,
) -> sys::napi_value {
    let answered = catch_unwind(AssertUnwindSafe(|| {
        let (mut count, mut arguments, mut data) = (N, [ptr::null_mut(); N], ptr::null_mut());
        // SAFETY: there is room for as many arguments as are promised.
        unsafe {
            let first = arguments.as_mut_ptr();
            sys::napi_get_cb_info(env, info, &raw mut count, first, ptr::null_mut(), &raw mut data);
        }
        // SAFETY: the data is that of this environment, until it ends.
        let Shared { buffer, fast, registry, names, calls } = unsafe { &*data.cast::<Shared>() };
        // SAFETY: the arrays are so long, and do not overlap; JavaScript waits for this call.
        let (buffer, fast) = unsafe {
            (
                std::slice::from_raw_parts_mut(*buffer, buffer::LENGTH),
                std::slice::from_raw_parts_mut(*fast, buffer::FAST_LENGTH),
            )
        };
        // A missing argument is `undefined`.
        let given = &arguments[..count.clamp(1, N)];
        work(&mut HotPath { buffer: CallBuffer(buffer), fast: FastBuffer(fast), registry, names, calls }, given)
    }));
    let failure = match answered {
        Ok(Ok(answer)) => return answer,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::internal("the engine panicked"),
    };
    // SAFETY: the environment is that of this call.
    unsafe { Failure::to_napi_value(env, *failure) }.unwrap_or(ptr::null_mut())
}
