//! JavaScript strings, exactly: UTF-16 that need not be well-formed.
//!
//! Read as UTF-16, because the other two reads of Node-API lose something: UTF-8 puts the same replacement character
//! in the place of every lone surrogate, so that different actors would share an entry.

use std::mem::MaybeUninit;

use napi::bindgen_prelude::Unknown;
use napi::{JsValue, sys};

/// Longer strings are read into the heap.
pub(crate) const ON_STACK: usize = 64;

/// Calls `work` with the units of the string that `value` holds; nothing if it is not one.
///
/// # Safety
/// `env` and `value` must be those of a call that is under way.
#[inline]
pub(crate) unsafe fn with_units<T>(
    env: sys::napi_env,
    value: sys::napi_value,
    work: impl FnOnce(&[u16]) -> T,
) -> Option<T> {
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

/// # Safety
/// As [`with_units`].
#[inline]
unsafe fn read(env: sys::napi_env, value: sys::napi_value, units: &mut [MaybeUninit<u16>]) -> Option<&[u16]> {
    let (start, room, mut length) = (units.as_mut_ptr().cast::<u16>(), units.len(), 0);
    // SAFETY: the buffer has the length that is passed, and the result outlives the call.
    let status = unsafe { sys::napi_get_value_string_utf16(env, value, start, room, &raw mut length) };
    // SAFETY: so many units have been written, which is fewer than there is room for.
    (status == sys::Status::napi_ok).then(|| unsafe { std::slice::from_raw_parts(start, length) })
}

/// # Safety
/// As [`with_units`].
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
