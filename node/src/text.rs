//! Actors and other text, and the errors for what is none.

use napi::bindgen_prelude::Unknown;
use napi::{JsValue, sys};
use tidegate::ffi;

use crate::errors::{Answered, Failure};
use crate::units::{ON_STACK, string, with_units};
use crate::value::value;

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
    // SAFETY: environment and value come from the call that is under way.
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
