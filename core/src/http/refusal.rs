//! The response to a request that is denied.

use serde::Serialize;

use super::accept::Form;
use super::room::RequestError;
use crate::headers::{Header, Policy, name_of};

/// The problem type that draft-ietf-httpapi-ratelimit-headers registers.
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const TITLE: &str = "Request cannot be satisfied as assigned quota has been exceeded";

/// The response to a request that is denied: a status, headers and a body.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The status, 429 unless set.
    pub status: u16,
    /// The headers: those of the answers, `Retry-After`, `Cache-Control` and, with a body, `Content-Type`. No
    /// `Content-Length`, which a server sets itself.
    pub headers: Vec<Header>,
    /// The body; empty if there is none.
    pub body: String,
    /// The value of `Content-Type`; empty without a body.
    pub media_type: &'static str,
    /// The seconds until the request would be admitted, rounded up, at least 1; 0 where no answer is blocked.
    pub retry_after: u64,
}

/// A problem as RFC 9457 has it, with the member that its type defines, and one of our own.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Problem<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    violated_policies: Option<Vec<String>>,
}

impl Refusal {
    /// The refusal with these answers, whose headers are made already.
    pub(crate) fn new(
        status: u16,
        mut headers: Vec<Header>,
        answers: &[Policy<'_>],
        form: Option<Form>,
        detail: Option<&str>,
    ) -> Self {
        let blocked = || answers.iter().filter(|answer| answer.info.blocked);
        let retry_after = blocked().map(|answer| answer.info.reset_sec().max(1)).max().unwrap_or(0);
        if retry_after > 0 && !headers.iter().any(|(name, _)| *name == "Retry-After") {
            headers.push(("Retry-After", retry_after.to_string()));
        }
        headers.push(("Cache-Control", "no-store".to_owned()));
        let Some(form) = form else {
            return Self { status, headers, body: String::new(), media_type: "", retry_after };
        };
        headers.push(("Content-Type", form.media_type().to_owned()));
        let detail = detail.map_or_else(|| sentence(retry_after), str::to_owned);
        let body = match form {
            Form::Text => format!("{detail}\n"),
            Form::Problem | Form::Json => {
                let mut names: Vec<_> = Vec::new();
                for answer in blocked() {
                    let name = name_of(answer.key);
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                let problem = Problem {
                    kind: QUOTA_EXCEEDED,
                    title: TITLE,
                    status,
                    detail: &detail,
                    retry_after: (retry_after > 0).then_some(retry_after),
                    violated_policies: Some(names),
                };
                serde_json::to_string(&problem).unwrap_or_default()
            }
        };
        Self { status, headers, body, media_type: form.media_type(), retry_after }
    }

    /// The response to a request that cannot be decided. Its problem has no type but the status.
    pub(crate) fn rejection(error: RequestError, form: Option<Form>) -> Self {
        let mut headers = vec![("Cache-Control", "no-store".to_owned())];
        let (status, detail) = (error.status(), error.detail());
        let Some(form) = form else {
            return Self { status, headers, body: String::new(), media_type: "", retry_after: 0 };
        };
        headers.push(("Content-Type", form.media_type().to_owned()));
        let body = match form {
            Form::Text => format!("{detail}\n"),
            Form::Problem | Form::Json => {
                let (kind, title) = ("about:blank", error.title());
                let problem = Problem { kind, title, status, detail, retry_after: None, violated_policies: None };
                serde_json::to_string(&problem).unwrap_or_default()
            }
        };
        Self { status, headers, body, media_type: form.media_type(), retry_after: 0 }
    }
}

fn sentence(retry_after: u64) -> String {
    match retry_after {
        0 => "Rate limit exceeded.".to_owned(),
        1 => "Rate limit exceeded. Retry in 1 second.".to_owned(),
        seconds => format!("Rate limit exceeded. Retry in {seconds} seconds."),
    }
}
