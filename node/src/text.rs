//! JavaScript strings, exactly: UTF-16 that need not be well-formed.
//!
//! Read as UTF-16, because the other two reads of Node-API lose something: UTF-8 puts the same replacement character
//! in the place of every lone surrogate, so that different strings would become one.

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
    let mut units = [0_u16; ON_STACK];
    // SAFETY: the caller vouches for `env` and `value`, and the slice for its own length.
    let length = unsafe { read(env, value, &mut units) }?;
    // A string that fills the buffer may have been cut short.
    if length < ON_STACK - 1 {
        return narrow(&units[..length], work);
    }
    // SAFETY: as above.
    let mut units = vec![0_u16; unsafe { length_of(env, value) }? + 1];
    // SAFETY: as above.
    let length = unsafe { read(env, value, &mut units) }?;
    narrow(&units[..length], work)
}

/// Nearly all actors are short and ASCII: those need no heap.
#[inline]
fn narrow<T>(units: &[u16], work: impl FnOnce(&str) -> T) -> Result<T, NotText> {
    let mut ascii = [0_u8; ON_STACK];
    if let Some(ascii) = ascii.get_mut(..units.len()) {
        let mut all = 0;
        for (byte, unit) in ascii.iter_mut().zip(units) {
            all |= unit;
            *byte = unit.to_le_bytes()[0];
        }
        if all < 0x80 {
            return str::from_utf8(ascii).map(work).map_err(|_| NotText::Surrogate);
        }
    }
    String::from_utf16(units).map(|text| work(&text)).map_err(|_| NotText::Surrogate)
}

/// # Safety
/// As [`with_text`].
#[inline]
unsafe fn read(env: sys::napi_env, value: sys::napi_value, units: &mut [u16]) -> Result<usize, NotText> {
    let mut length = 0;
    // SAFETY: the buffer has the length that is passed, and the result outlives the call.
    let status =
        unsafe { sys::napi_get_value_string_utf16(env, value, units.as_mut_ptr(), units.len(), &raw mut length) };
    if status == sys::Status::napi_ok { Ok(length) } else { Err(NotText::Type) }
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
