//! The results of all layers around a service, which become the headers of one response.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use crate::check::Check;
use crate::headers::{Header, Policy};
use crate::http::{Gate, Refusal};
use crate::info::LimitInfo;

/// The results that a response shows so far, and the fields that layers have written for them.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    /// Each with the key and the cost of its check.
    results: Vec<(String, LimitInfo, u64)>,
    fields: Vec<&'static str>,
}

/// The mark of a response to a request that limits denied, for the layers around them.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeniedInside;

impl Answers {
    /// The results of the checks that are enforced.
    pub(super) fn of(info: &LimitInfo, checks: &[Check<'_>]) -> Self {
        let enforced = info.checks().iter().filter(|info| !info.is_observed() && !checks.is_empty());
        let results = enforced
            .map(|info| {
                let units = checks.get(info.check_index()).map_or(1, Check::units);
                (info.key(checks).to_owned(), info.clone(), units)
            })
            .collect();
        Self { results, fields: Vec::new() }
    }

    fn policies(&self) -> Vec<Policy<'_>> {
        self.results.iter().map(|(key, info, cost)| Policy::new(key, info).cost(*cost)).collect()
    }

    /// Puts the headers of these results on a response, in place of those of the layers inside, whose results are among
    /// them. Fields that the service has written itself stay.
    pub(super) fn write<B>(mut self, response: &mut Response<B>, gate: &Gate) {
        if self.results.is_empty() || !gate.shows_limits() {
            return;
        }
        if let Some(inside) = response.extensions_mut().remove::<Self>() {
            self.results.extend(inside.results);
            self.fields = inside.fields;
        }
        // What else a refusal has stays: a style may have no `Retry-After`.
        for name in self.fields.iter().filter(|name| name.contains("RateLimit")) {
            response.headers_mut().remove(*name);
        }
        let headers = gate.headers(&self.policies(), response.status().as_u16());
        put(response.headers_mut(), headers, &mut self.fields);
        response.extensions_mut().insert(self);
    }

    /// The response to a request that these results deny, by all lines of its `Accept`.
    pub(super) fn refuse(mut self, gate: &Gate, accept: &[&[u8]]) -> Response<String> {
        let (mut response, fields) = refused(gate.refusal(&self.policies(), accept, None));
        response.extensions_mut().insert(DeniedInside);
        if gate.shows_limits() {
            self.fields = fields;
            response.extensions_mut().insert(self);
        }
        response
    }
}

/// The response for a refusal, and its fields.
pub(super) fn refused(refusal: Refusal) -> (Response<String>, Vec<&'static str>) {
    let mut response = Response::new(refusal.body);
    *response.status_mut() = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
    let mut fields = Vec::new();
    put(response.headers_mut(), refusal.headers, &mut fields);
    (response, fields)
}

/// The response where a request could not be decided for a reason that is not its own.
pub(super) fn failed(status: StatusCode) -> Response<String> {
    let mut response = Response::new(status.canonical_reason().unwrap_or_default().to_owned());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Writes headers, but for those that somebody else has written; `own` are the fields that layers have.
fn put(fields: &mut HeaderMap, headers: Vec<Header>, own: &mut Vec<&'static str>) {
    for (name, value) in headers {
        if fields.contains_key(name) && !own.contains(&name) {
            continue;
        }
        if let (Ok(field), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::try_from(value)) {
            fields.insert(field, value);
            own.push(name);
        }
    }
}
