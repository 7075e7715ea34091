//! JavaScript strings, exactly: UTF-16 that need not be well-formed.
//!
//! Read as UTF-16, because the other two reads of Node-API lose something: UTF-8 puts the same replacement character
//! in the place of every lone surrogate, so that different actors would share an entry.

use std::mem::MaybeUninit;

use napi::bindgen_prelude::Unknown;
use napi::{JsValue, sys};
use tidegate::ffi;

use crate::errors::{Answered, Failure};
use crate::value::value;

/// Longer strings are read into the heap.
const ON_STACK: usize = 64;

/// The reason why a value cannot be an actor.
pub(crate) enum NoActor {
    /// It is not a string, or one with a lone surrogate.
    NotText,
    /// It is longer than an actor may be.
    Long(usize),
}

/// Calls `work` with the actor that `value` holds.
///
/// # Safety
/// `env` and `value` must be those of a call that is under way.
#[inline]
pub(crate) unsafe fn with_actor_in<T>(
    env: sys::napi_env,
    value: sys::napi_value,
    work: impl FnOnce(&str) -> T,
) -> Result<T, NoActor> {
    let actor = |units: &[u16]| {
        // Nearly all actors are short and ASCII: those need no heap.
        let mut ascii = [0_u8; ON_STACK];
        match to_ascii(units, &mut ascii).map(str::from_utf8) {
            Some(Ok(actor)) => Ok(work(actor)),
            _ => wide(units, work),
        }
    };
    // SAFETY: as the caller says.
    unsafe { with_units(env, value, actor) }.ok_or(NoActor::NotText)?
}

/// Calls `work` with the units of the string that `value` holds; nothing if it is not one.
///
/// # Safety
/// As [`with_actor_in`].
#[inline]
unsafe fn with_units<T>(env: sys::napi_env, value: sys::napi_value, work: impl FnOnce(&[u16]) -> T) -> Option<T> {
    let mut units = [MaybeUninit::uninit(); ON_STACK];
    // SAFETY: the caller vouches for `env` and `value`.
    let short = unsafe { read(env, value, &mut units) }?;
    // A string that fills the buffer may have been cut short.
    if short.len() < ON_STACK - 1 {
        return Some(work(short));
    }
    // SAFETY: as above.
    let mut units = vec![MaybeUninit::uninit(); unsafe { length_of(env, value) }? + 1];
    // SAFETY: as above.
    Some(work(unsafe { read(env, value, &mut units) }?))
}

/// The units as bytes, if all of them are ASCII.
///
/// The last few are taken one by one: V8 has just written them so, and to read them all at once would mean to wait
/// until they have left the processor's store buffer.
#[inline]
fn to_ascii<'a>(units: &[u16], ascii: &'a mut [u8; ON_STACK]) -> Option<&'a [u8]> {
    const AT_ONCE: usize = 16;
    let ascii = ascii.get_mut(..units.len())?;
    let (firsts, lasts) = ascii.as_chunks_mut::<AT_ONCE>();
    let (first_units, last_units) = units.as_chunks::<AT_ONCE>();
    let mut all = 0;
    for (bytes, units) in firsts.iter_mut().zip(first_units) {
        for (byte, unit) in bytes.iter_mut().zip(units) {
            all |= unit;
            *byte = unit.to_le_bytes()[0];
        }
    }
    if all >= 0x80 {
        return None;
    }
    for (byte, unit) in lasts.iter_mut().zip(last_units) {
        *byte = u8::try_from(*unit).ok().filter(u8::is_ascii)?;
    }
    Some(ascii)
}

#[cold]
#[inline(never)]
fn wide<T>(units: &[u16], work: impl FnOnce(&str) -> T) -> Result<T, NoActor> {
    // A unit is at least a byte: what is longer than this need not be copied.
    if units.len() > ffi::LONGEST_ACTOR {
        return Err(NoActor::Long(units.len()));
    }
    let actor = String::from_utf16(units).map_err(|_| NoActor::NotText)?;
    if actor.len() > ffi::LONGEST_ACTOR { Err(NoActor::Long(actor.len())) } else { Ok(work(&actor)) }
}

/// # Safety
/// As [`with_actor_in`].
#[inline]
unsafe fn read(env: sys::napi_env, value: sys::napi_value, units: &mut [MaybeUninit<u16>]) -> Option<&[u16]> {
    let (start, room, mut length) = (units.as_mut_ptr().cast::<u16>(), units.len(), 0);
    // SAFETY: the buffer has the length that is passed, and the result outlives the call.
    let status = unsafe { sys::napi_get_value_string_utf16(env, value, start, room, &raw mut length) };
    // SAFETY: so many units have been written, which is fewer than there is room for.
    (status == sys::Status::napi_ok).then(|| unsafe { std::slice::from_raw_parts(start, length) })
}

/// # Safety
/// As [`with_actor_in`].
unsafe fn length_of(env: sys::napi_env, value: sys::napi_value) -> Option<usize> {
    let mut length = 0;
    // SAFETY: without a buffer, Node-API writes only the length.
    let status = unsafe { sys::napi_get_value_string_utf16(env, value, std::ptr::null_mut(), 0, &raw mut length) };
    (status == sys::Status::napi_ok).then_some(length)
}

/// The string that an argument holds, if it is one, and well-formed.
pub(crate) fn string(of: &Unknown<'_>) -> Option<String> {
    let raw = of.value();
    // SAFETY: environment and value come from the call that is under way.
    unsafe { with_units(raw.env, raw.value, |units| String::from_utf16(units).ok()) }?
}

/// The text that an argument holds; `key` and `field` are for the error.
pub(crate) fn text(of: &Unknown<'_>, key: &str, field: &str) -> Answered<String> {
    match string(of) {
        Some(text) => Ok(text),
        None => Err(not_text(of, key, field)),
    }
}

/// The actor that an argument holds; `key` is for the error.
pub(crate) fn actor_text(of: &Unknown<'_>, key: impl FnOnce() -> String) -> Answered<String> {
    let raw = of.value();
    // SAFETY: as above.
    let actor = unsafe { with_actor_in(raw.env, raw.value, str::to_owned) };
    actor.map_err(|problem| not_an_actor(problem, &key(), of))
}

/// The error for a value that cannot be an actor.
#[cold]
#[inline(never)]
pub(crate) fn not_an_actor(problem: NoActor, key: &str, of: &Unknown<'_>) -> Box<Failure> {
    match problem {
        NoActor::Long(bytes) => ffi::long_actor(key, bytes).into(),
        NoActor::NotText => not_text(of, key, "actor"),
    }
}

/// The error for a namespace, an actor or the like that is not text.
#[cold]
fn not_text(of: &Unknown<'_>, key: &str, field: &str) -> Box<Failure> {
    match value(of) {
        Ok(given) => ffi::not_text(key, field, &given).into(),
        Err(error) => Failure::internal(&error.reason),
    }
}
