//! JavaScript strings, exactly: UTF-16 that need not be well-formed.
//!
//! Read as UTF-16, because the other two reads of Node-API lose something: UTF-8 puts the same replacement character
//! in the place of every lone surrogate, so that different strings would become one.

use std::mem::MaybeUninit;

use napi::bindgen_prelude::Unknown;
use napi::{JsValue, sys};

use crate::failure::{Answered, Failure};
use crate::value::value;

/// Longer strings are read into the heap.
const ON_STACK: usize = 64;

/// Why a value could not be read as text.
pub(crate) enum NotText {
    /// It is not a string.
    Type,
    /// It holds half of a surrogate pair.
    Surrogate,
}

impl From<NotText> for &'static str {
    fn from(problem: NotText) -> Self {
        match problem {
            NotText::Type => "must be a string",
            NotText::Surrogate => "must be well-formed, without lone surrogates",
        }
    }
}

/// Calls `work` with the string that `value` holds.
///
/// # Safety
/// `env` and `value` must be those of a call that is under way.
#[inline]
pub(crate) unsafe fn with_text<T>(
    env: sys::napi_env,
    value: sys::napi_value,
    work: impl FnOnce(&str) -> T,
) -> Result<T, NotText> {
    let mut units = [MaybeUninit::uninit(); ON_STACK];
    // SAFETY: the caller vouches for `env` and `value`.
    let short = unsafe { read(env, value, &mut units) }?;
    // A string that fills the buffer may have been cut short.
    if short.len() < ON_STACK - 1 {
        return narrow(short, work);
    }
    // SAFETY: as above.
    let mut units = vec![MaybeUninit::uninit(); unsafe { length_of(env, value) }? + 1];
    // SAFETY: as above.
    wide(unsafe { read(env, value, &mut units) }?, work)
}

/// Nearly all actors are short and ASCII: those need no heap.
#[inline]
fn narrow<T>(units: &[u16], work: impl FnOnce(&str) -> T) -> Result<T, NotText> {
    let mut ascii = [0_u8; ON_STACK];
    match to_ascii(units, &mut ascii) {
        Some(ascii) => str::from_utf8(ascii).map(work).map_err(|_| NotText::Surrogate),
        None => wide(units, work),
    }
}

/// The units as bytes, if all of them are ASCII.
///
/// The last few are taken one by one: V8 has just written them so, and to read them all at once would mean to wait until
/// they have left the processor's store buffer.
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
fn wide<T>(units: &[u16], work: impl FnOnce(&str) -> T) -> Result<T, NotText> {
    String::from_utf16(units).map(|text| work(&text)).map_err(|_| NotText::Surrogate)
}

/// # Safety
/// As [`with_text`].
#[inline]
unsafe fn read(env: sys::napi_env, value: sys::napi_value, units: &mut [MaybeUninit<u16>]) -> Result<&[u16], NotText> {
    let (start, room, mut length) = (units.as_mut_ptr().cast::<u16>(), units.len(), 0);
    // SAFETY: the buffer has the length that is passed, and the result outlives the call.
    let status = unsafe { sys::napi_get_value_string_utf16(env, value, start, room, &raw mut length) };
    if status != sys::Status::napi_ok {
        return Err(NotText::Type);
    }
    // SAFETY: so many units have been written, which is fewer than there is room for.
    Ok(unsafe { std::slice::from_raw_parts(start, length) })
}

/// # Safety
/// As [`with_text`].
unsafe fn length_of(env: sys::napi_env, value: sys::napi_value) -> Result<usize, NotText> {
    let mut length = 0;
    // SAFETY: without a buffer, Node-API writes only the length.
    let status = unsafe { sys::napi_get_value_string_utf16(env, value, std::ptr::null_mut(), 0, &raw mut length) };
    if status == sys::Status::napi_ok { Ok(length) } else { Err(NotText::Type) }
}

/// The text that an argument holds; `key` and `field` are for the error.
pub(crate) fn text(of: &Unknown<'_>, key: &str, field: &'static str) -> Answered<String> {
    let raw = of.value();
    // SAFETY: environment and value come from the call that is under way.
    let text = unsafe { with_text(raw.env, raw.value, str::to_owned) };
    text.or_else(|problem| {
        let given = value(of).map_err(|error| Failure::internal(&error.reason))?;
        Err(refused(problem, key, field, given))
    })
}

/// The error for an actor, a namespace or the like that is not text.
#[cold]
pub(crate) fn refused(problem: NotText, key: &str, field: &'static str, value: tidegate::Value) -> Box<Failure> {
    let kind = match problem {
        NotText::Type => tidegate::ErrorKind::Type,
        NotText::Surrogate => tidegate::ErrorKind::Range,
    };
    let problem: &str = problem.into();
    tidegate::LimitError::new(kind, key, field, problem, value).into()
}
