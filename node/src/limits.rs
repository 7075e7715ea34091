//! Definitions, from names and values that JavaScript has read out of an object.

use napi::Result;
use napi::bindgen_prelude::{Either, Unknown};
use napi_derive::napi;
use tidegate::ffi::{self, Taken};
use tidegate::{Check, ErrorKind, Limit, LimitError};

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

/// Of the limits of a call, or of an answer to one: the shortest lease in milliseconds, and the indices of those that hold
/// units.
#[napi(catch_unwind)]
pub(crate) fn held_of(limits: Vec<f64>, of_answer: bool) -> Either<Vec<f64>, Failure> {
    let held = |registry: &Registry| -> Answered<Vec<f64>> {
        let checks = checks_of(registry, &limits, &[])?;
        if of_answer {
            ffi::holds_some(&checks)?;
        } else {
            ffi::may_hold(&checks)?;
        }
        let lease = ffi::shortest_lease(&checks).map_or(0.0, |lease| lease.as_secs_f64() * 1000.0);
        let indices = (0..checks.len()).filter(|index| checks[*index].holds());
        Ok(std::iter::once(lease).chain(indices.map(|index| index as f64)).collect())
    };
    registry::with(held).map_or_else(|failure| Either::B(*failure), Either::A)
}

/// The costs at the end of a hold as its caller says them: that of the only limit which holds nothing, a list, or some
/// by their names.
type Costs = Either<f64, Vec<f64>>;

/// The actual cost of each check at the end of a hold, of these limits at these costs; `names` are those of the costs
/// `taken`, where they are given by name.
#[napi(catch_unwind)]
pub(crate) fn spent_of_hold(
    limits: Vec<f64>,
    costs: Vec<f64>,
    #[napi(ts_arg_type = "number | number[]")] taken: Costs,
    names: Option<Vec<String>>,
) -> Either<Vec<f64>, Failure> {
    let spent = |registry: &Registry| -> Answered<Vec<f64>> {
        let checks = checks_of(registry, &limits, &costs)?;
        let spent = match (&taken, &names) {
            (Either::A(units), _) => ffi::spent_of_hold(&checks, Taken::One(*units)),
            (Either::B(each), None) => ffi::spent_of_hold(&checks, Taken::Each(each)),
            (Either::B(each), Some(names)) => {
                let by_name: Vec<_> = names.iter().map(String::as_str).zip(each.iter().copied()).collect();
                ffi::spent_of_hold(&checks, Taken::Named(&by_name))
            }
        }?;
        Ok(spent.into_iter().map(|units| units as f64).collect())
    };
    registry::with(spent).map_or_else(|failure| Either::B(*failure), Either::A)
}

/// Checks of these limits, whose actors do not matter.
fn checks_of<'a>(registry: &'a Registry, limits: &[f64], costs: &[f64]) -> Answered<Vec<Check<'a>>> {
    let one = |(index, limit): (usize, &f64)| {
        let limit = registry.limits.get(*limit).ok_or_else(|| Failure::internal("no such limit"))?;
        let cost = costs.get(index).map_or(Ok(1), |cost| ffi::cost(limit.key(), *cost))?;
        Ok(Check::new(limit, "").cost(cost))
    };
    limits.iter().enumerate().map(one).collect()
}

/// The JSON Schema of the wire form, as JSON text.
#[napi(catch_unwind)]
pub(crate) fn json_schema() -> &'static str {
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
