//! The headers that go with an answer.

use napi::bindgen_prelude::{Either, Float64Array, Unknown};
use napi_derive::napi;
use tidegate::ffi;
use tidegate::headers::Header;

use crate::buffer::CallBuffer;
use crate::errors::{Answered, Failure};
use crate::http::policy;
use crate::value::value;

/// Names and values in turn, in any style but `x`, for the answer in the call buffer; `keys` and `costs` are those of its checks, a
/// cost below 0 is not known.
#[napi(catch_unwind)]
pub(crate) fn headers(
    mut buffer: Float64Array,
    keys: Vec<String>,
    costs: Vec<f64>,
    kind: Unknown<'_>,
    draft: Option<Unknown<'_>>,
    reset: Option<Unknown<'_>>,
) -> Either<Vec<String>, Failure> {
    // SAFETY: JavaScript waits for this call, so nothing else reads or writes the call buffer meanwhile.
    let buffer = CallBuffer(unsafe { buffer.as_mut() });
    match fields(&buffer, &keys, &costs, &kind, draft.as_ref(), reset.as_ref()) {
        Ok(headers) => Either::A(headers.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()),
        Err(failure) => Either::B(*failure),
    }
}

fn fields(
    buffer: &CallBuffer<'_>,
    keys: &[String],
    costs: &[f64],
    kind: &Unknown<'_>,
    draft: Option<&Unknown<'_>>,
    reset: Option<&Unknown<'_>>,
) -> Answered<Vec<Header>> {
    let read = |given: &Unknown<'_>| value(given).map_err(|error| Failure::internal(&error.reason));
    let (draft, reset) = (draft.map(read).transpose()?, reset.map(read).transpose()?);
    let style = ffi::style("headers", read(kind)?, draft, reset)?;
    let (merged, checks, binding) = buffer.answers();
    let policies: Vec<_> =
        keys.iter().zip(&checks).zip(costs).map(|((key, info), cost)| policy(key, info, *cost)).collect();
    Ok(style.fields(&merged, &policies, binding))
}
