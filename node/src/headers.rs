//! The headers that go with an answer.

use napi::bindgen_prelude::{Either, Float64Array};
use napi_derive::napi;
use tidegate::headers::{Draft, Header, Policy, ietf, x};
use tidegate::{ErrorKind, LimitError};

use crate::buffer::CallBuffer;
use crate::errors::Failure;
use crate::numbers::whole;

/// Names and values in turn of the IETF's fields, or of all, for the answer in the call buffer; `keys` are those of
/// its checks.
#[napi(catch_unwind)]
pub(crate) fn headers(
    mut buffer: Float64Array,
    keys: Vec<String>,
    kind: String,
    draft: f64,
) -> Either<Vec<String>, Failure> {
    // SAFETY: JavaScript waits for this call, so nobody else reads or writes the call buffer meanwhile.
    let buffer = CallBuffer(unsafe { buffer.as_mut() });
    match fields(&buffer, &keys, &kind, draft) {
        Ok(headers) => Either::A(headers.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()),
        Err(error) => Either::B(*Box::<Failure>::from(error)),
    }
}

fn fields(buffer: &CallBuffer<'_>, keys: &[String], kind: &str, draft: f64) -> Result<Vec<Header>, LimitError> {
    let (merged, checks, binding) = buffer.answers();
    let ietf = || {
        let policies: Vec<_> = keys.iter().zip(&checks).map(|(key, info)| Policy { key, info }).collect();
        Ok(ietf(&policies, binding, version(draft)?))
    };
    match kind {
        "ietf" => ietf(),
        "both" => Ok([x(&merged), ietf()?].concat()),
        _ => Err(LimitError::new(ErrorKind::Range, "", "headers", r#"must be "x", "ietf" or "both""#, kind)),
    }
}

fn version(draft: f64) -> Result<Draft, LimitError> {
    let known = u32::try_from(whole(draft)).ok().filter(|_| draft >= 0.0 && draft.fract() == 0.0);
    known
        .and_then(Draft::from_number)
        .ok_or_else(|| LimitError::new(ErrorKind::Range, "", "draft", "must be a known version, at most 11", draft))
}
