//! Definitions, from names and values that JavaScript has read out of an object.

use napi::Result;
use napi::bindgen_prelude::{Either, Unknown};
use napi_derive::napi;
use tidegate::{ErrorKind, Limit, LimitError};

use crate::failure::Failure;
use crate::tables;
use crate::value::value;

/// Checks and compiles a definition; answers with its number.
#[napi(catch_unwind)]
pub(crate) fn make_limit(names: Vec<String>, values: Vec<Unknown<'_>>) -> Result<Either<f64, Failure>> {
    let values = values.iter().map(value).collect::<Result<Vec<_>>>()?;
    Ok(match Limit::from_fields(names.into_iter().zip(values)) {
        Ok(limit) => Either::A(tables::change(|tables| tables.limits.add(limit))),
        Err(error) => Either::B(*Box::<Failure>::from(error)),
    })
}

/// Gives a limit's number back.
#[napi(catch_unwind)]
pub(crate) fn free_limit(limit: f64) {
    drop(tables::change(|tables| tables.limits.remove(limit)));
}

/// The error for a value that JavaScript itself came across: out of range, or else of the wrong type.
#[napi(catch_unwind)]
pub(crate) fn refuse(
    out_of_range: bool,
    key: String,
    field: String,
    problem: String,
    given: Unknown<'_>,
) -> Result<Failure> {
    let kind = if out_of_range { ErrorKind::Range } else { ErrorKind::Type };
    Ok(*Box::<Failure>::from(LimitError::new(kind, &key, field, problem, value(&given)?)))
}
