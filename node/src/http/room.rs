//! The rules that all frameworks share: names translated, nothing decided.

use napi::Result;
use napi::bindgen_prelude::{Either, Unknown};
use napi_derive::napi;
use tidegate::LimitError;
use tidegate::ffi;
use tidegate::http::{self, RequestError, Syntax};

use crate::errors::{Answered, Failure};
use crate::numbers::whole;
use crate::registry;
use crate::value::value;

/// The actor that stands for a client's address.
#[napi(catch_unwind)]
pub(crate) fn client_of(address: String, ipv6_prefix: Unknown<'_>) -> Result<Either<String, Failure>> {
    let found = ffi::client_of(&address, &value(&ipv6_prefix)?);
    Ok(found.map_or_else(|error| Either::B(*Box::<Failure>::from(error)), Either::A))
}

/// The actor that stands for a key, which a client may have chosen.
#[napi(catch_unwind)]
pub(crate) fn key_of(key: String) -> String {
    http::key_of(&key).into_owned()
}

/// The template of a route, in a syntax: `braces`, `angles` or `colons`.
#[napi(catch_unwind)]
pub(crate) fn template(path: String, syntax: String) -> Either<String, Failure> {
    match syntax.parse::<Syntax>() {
        Ok(syntax) => Either::A(http::template(&path, syntax)),
        Err(error) => Either::B(*Box::<Failure>::from(error)),
    }
}

/// The key of a route's limits: its methods and its template.
#[napi(catch_unwind)]
pub(crate) fn route_name(methods: Vec<String>, template: String) -> String {
    http::route_name(&methods, &template)
}

/// The key of a limit of a whole application.
#[napi]
pub(crate) fn app_name() -> &'static str {
    http::APP
}

/// The end of a candidate's key.
#[napi]
pub(crate) fn candidate_end() -> &'static str {
    http::CANDIDATE
}

/// The keys of limits: names that were derived, each with its place, and definitions.
#[napi]
pub(crate) struct Names(http::Names);

#[napi]
#[expect(unreachable_pub, reason = "napi takes no others")]
impl Names {
    /// Notes the name of a place; false where another place has it.
    #[napi(catch_unwind)]
    pub fn claim(&mut self, name: String, place: f64) -> bool {
        self.0.claim(&name, whole(place))
    }

    /// Notes a definition; it and an earlier one with the same key that is another one, in words.
    #[napi(catch_unwind)]
    pub fn define(&mut self, limit: f64) -> Option<String> {
        registry::with(|registry| self.0.define(registry.limits.get(limit)?))
    }

    /// Forgets the names of a place.
    #[napi(catch_unwind)]
    pub fn release(&mut self, place: f64) {
        self.0.release(whole(place));
    }
}

/// No names.
#[napi]
pub(crate) fn make_names() -> Names {
    Names(http::Names::new())
}

/// The name of the request's error behind a `LimitError` with this field and value.
#[napi(catch_unwind)]
pub(crate) fn request_error(field: String, value: String) -> Option<&'static str> {
    RequestError::of_field(&field, &value).map(RequestError::name)
}

/// A request's error by its name.
#[napi(object, object_from_js = false)]
pub(crate) struct RequestErrorParts {
    /// The status.
    pub status: f64,
    /// The sentence for the client.
    pub detail: &'static str,
}

/// The status and the sentence of a request's error.
#[napi(catch_unwind)]
pub(crate) fn request_error_parts(name: String) -> Either<RequestErrorParts, Failure> {
    match named(&name) {
        Ok(error) => Either::A(RequestErrorParts { status: f64::from(error.status()), detail: error.detail() }),
        Err(failure) => Either::B(*failure),
    }
}

/// The error of a request with this name.
pub(super) fn named(name: &str) -> Answered<RequestError> {
    name.parse().map_err(|error: LimitError| error.into())
}

/// A count of denials, which says which may be told.
#[napi]
pub(crate) struct Denials(http::Denials);

#[napi]
#[expect(unreachable_pub, reason = "napi takes no others")]
impl Denials {
    /// Notes a denial at this time in milliseconds; where it is to be told, the number before it that were not.
    #[napi(catch_unwind)]
    pub fn note(&mut self, now_ms: f64) -> Option<f64> {
        self.0.note(whole(now_ms)).map(|before| before as f64)
    }
}

/// No denials.
#[napi]
pub(crate) fn make_denials() -> Denials {
    Denials(http::Denials::new())
}
