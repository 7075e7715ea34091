//! The results of all layers around a service, which become the headers of one response.

use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use crate::check::Check;
use crate::headers::{Header, Policy};
use crate::http::{Gate, Refusal};
use crate::info::LimitInfo;

/// The results that a response has so far, with the key and the cost of each check.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers(Vec<(String, LimitInfo, u64)>);

impl Answers {
    /// The results of the checks that are enforced.
    pub(super) fn of(info: &LimitInfo, checks: &[Check<'_>]) -> Self {
        let enforced = info.checks().iter().filter(|info| !info.is_observed() && !checks.is_empty());
        Self(
            enforced
                .map(|info| {
                    let units = checks.get(info.check_index()).map_or(1, Check::units);
                    (info.key(checks).to_owned(), info.clone(), units)
                })
                .collect(),
        )
    }

    pub(super) fn policies(&self) -> Vec<Policy<'_>> {
        self.0.iter().map(|(key, info, cost)| Policy::new(key, info).cost(*cost)).collect()
    }

    /// Puts the headers of these results on a response, beside those of the layers inside. Fields that the service has
    /// written itself stay.
    pub(super) fn write<B>(mut self, response: &mut Response<B>, gate: &Gate) {
        let earlier = response.extensions_mut().remove::<Self>();
        let is_ours = earlier.is_some();
        self.0.extend(earlier.unwrap_or_default().0);
        let status = response.status().as_u16();
        let headers = gate.headers(&self.policies(), status);
        put(response.headers_mut(), headers, is_ours);
        response.extensions_mut().insert(self);
    }
}

/// The response for a refusal.
pub(super) fn refused(refusal: Refusal) -> Response<String> {
    let mut response = Response::new(refusal.body);
    *response.status_mut() = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
    put(response.headers_mut(), refusal.headers, true);
    response
}

/// The response where a request could not be decided for a reason that is not its own.
pub(super) fn failed(status: StatusCode) -> Response<String> {
    let mut response = Response::new(status.canonical_reason().unwrap_or_default().to_owned());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    put(response.headers_mut(), vec![("Cache-Control", "no-store".to_owned())], true);
    response
}

fn put(fields: &mut HeaderMap, headers: Vec<Header>, overwrites: bool) {
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value))
            && (overwrites || !fields.contains_key(&name))
        {
            fields.insert(name, value);
        }
    }
}
