//! Definitions, from names and values that JavaScript has read out of an object.

use napi::Result;
use napi::bindgen_prelude::{Either, Unknown};
use napi_derive::napi;
use tidegate::{ErrorKind, Limit, LimitError};

use crate::errors::{Answered, Failure};
use crate::registry::{self, Registry};
use crate::text::text;
use crate::value::value;

/// Checks and compiles a definition; answers with its number.
#[napi(catch_unwind)]
pub(crate) fn make_limit(names: Vec<String>, values: Vec<Unknown<'_>>) -> Result<Either<f64, Failure>> {
    let values = values.iter().map(value).collect::<Result<Vec<_>>>()?;
    Ok(match Limit::from_fields(names.into_iter().zip(values)) {
        Ok(limit) => Either::A(registry::change(|registry| registry.limits.add(limit))),
        Err(error) => Either::B(*Box::<Failure>::from(error)),
    })
}

/// A limit that did not come as an object: its number, and its wire form as JSON text.
#[napi(object, object_from_js = false)]
pub(crate) struct Made {
    /// The limit's number.
    pub handle: f64,
    /// The wire form as JSON text.
    pub wire: String,
}

impl Made {
    pub(crate) fn new(limit: &Limit) -> Self {
        Self { handle: registry::change(|registry| registry.limits.add(limit.clone())), wire: limit.to_json() }
    }
}

/// One limit as people write it.
#[napi(catch_unwind)]
pub(crate) fn parse_limit(key: Unknown<'_>, definition: Unknown<'_>) -> Either<Made, Failure> {
    let parse = || -> Answered<Made> {
        let key = text(&key, "", "key")?;
        let definition = text(&definition, &key, "definition")?;
        Ok(Made::new(&Limit::parse(key, &definition)?))
    };
    parse().map_or_else(|failure| Either::B(*failure), Either::A)
}

/// A list of limits as people write it.
#[napi(catch_unwind)]
pub(crate) fn parse_limits(key: Unknown<'_>, definition: Unknown<'_>) -> Either<Vec<Made>, Failure> {
    let parse = || -> Answered<Vec<Made>> {
        let key = text(&key, "", "key")?;
        let definition = text(&definition, &key, "definition")?;
        Ok(Limit::parse_all(key, &definition)?.iter().map(Made::new).collect())
    };
    parse().map_or_else(|failure| Either::B(*failure), Either::A)
}

/// The allowance of a definition.
#[napi(object, object_from_js = false)]
pub(crate) struct Explained {
    /// The numbers as JSON text.
    pub json: String,
    /// The same in words.
    pub text: String,
}

/// The allowance of a definition for an actor with this factor.
#[napi(catch_unwind)]
pub(crate) fn explain_limit(limit: f64, factor: f64) -> Either<Explained, Failure> {
    let explain = |registry: &Registry| -> Answered<Explained> {
        let limit = registry.limits.get(limit).ok_or_else(|| Failure::internal("no such limit"))?;
        let explanation = limit.explain_with(factor)?;
        Ok(Explained { json: explanation.to_json(), text: explanation.to_string() })
    };
    registry::with(explain).map_or_else(|failure| Either::B(*failure), Either::A)
}

/// The JSON Schema of the wire form, as JSON text.
#[napi(catch_unwind)]
pub(crate) fn json_schema() -> String {
    Limit::json_schema()
}

/// Gives a limit's number back.
#[napi(catch_unwind)]
pub(crate) fn free_limit(limit: f64) {
    drop(registry::change(|registry| registry.limits.remove(limit)));
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
    Ok(*Box::<Failure>::from(&LimitError::new(kind, &key, field, problem, value(&given)?)))
}

/// The words for the option that a misspelt name may have meant, or an empty string.
#[napi(catch_unwind)]
pub(crate) fn hint(name: String, known: Vec<String>) -> String {
    tidegate::ffi::hint(&name, known)
}
