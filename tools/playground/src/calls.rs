//! The calls of a request, decided one after the other: pure, with the times of the request.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidegate::headers::{Draft, Header, Policy, ietf, x};
use tidegate::{Call, ErrorKind, Limit, LimitError, LimitInfo, Micros, State};

/// Limits as text or in the wire form, and the calls of their actors.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    /// The key of a limit as text; one in the wire form has its own.
    key: String,
    /// Definitions of one limit, which share the states of its actors.
    limits: Vec<String>,
    factor: Option<f64>,
    #[serde(borrow)]
    steps: Vec<Step<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step<'a> {
    actor: &'a str,
    /// Milliseconds.
    now: f64,
    call: &'a str,
    /// Index of the definition.
    #[serde(default)]
    limit: usize,
    cost: Option<u64>,
    factor: Option<f64>,
    max_wait_ms: Option<f64>,
    for_ms: Option<f64>,
    remaining: Option<u64>,
    retry_after_ms: Option<f64>,
}

#[derive(Serialize)]
struct Reply {
    limits: Vec<Limit>,
    words: Vec<String>,
    results: Vec<Outcome>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    blocked: bool,
    remaining: u64,
    reset_ms: u64,
    reset_sec: u64,
    full_reset_ms: u64,
    full_reset_sec: u64,
    wait_ms: u64,
    quota: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    headers: Vec<Header>,
}

#[derive(Serialize)]
struct Refusal<'a> {
    error: String,
    field: &'a str,
}

/// The reply to a request, both JSON: the limits, their explanations and a result for each call, or the error.
pub(crate) fn answer(request: &[u8]) -> Vec<u8> {
    let reply = match read(&String::from_utf8_lossy(request)).and_then(|request| decided(&request)) {
        Ok(reply) => serde_json::to_vec(&reply),
        Err(error) => serde_json::to_vec(&Refusal { error: error.to_string(), field: error.field() }),
    };
    // Strings and numbers: there is nothing in it that serialisation can refuse.
    reply.unwrap_or_default()
}

/// From text, as definitions are read: a second reader, of bytes, would be more code to download.
fn read(request: &str) -> Result<Request<'_>, LimitError> {
    serde_json::from_str(request)
        .map_err(|error| LimitError::new(ErrorKind::Type, "", "request", "must be a request", error))
}

fn decided(request: &Request<'_>) -> Result<Reply, LimitError> {
    let limits = request.limits.iter().map(|text| defined(&request.key, text.trim())).collect::<Result<Vec<_>, _>>()?;
    let factor = request.factor.unwrap_or(1.0);
    let words = |limit: &Limit| Ok(limit.explain_with(factor)?.to_string());
    let words = limits.iter().map(words).collect::<Result<_, LimitError>>()?;
    // A few actors: a map would be more code to download.
    let mut states = Vec::<(&str, State)>::new();
    let mut results = Vec::with_capacity(request.steps.len());
    for step in &request.steps {
        let unknown = || LimitError::new(ErrorKind::Range, "", "limit", "must be the index of a limit", step.limit);
        let limit = limits.get(step.limit).ok_or_else(unknown)?;
        let index = states.iter().position(|(actor, _)| *actor == step.actor).unwrap_or_else(|| {
            states.push((step.actor, State::default()));
            states.len() - 1
        });
        let (_, state) = &mut states[index];
        let (info, after) = limit.decide_with(
            std::mem::take(state),
            micros(step.now),
            step.call()?,
            step.cost.unwrap_or(1),
            step.factor.unwrap_or(factor),
        )?;
        *state = after;
        results.push(Outcome::of(&info, step.call != "peek", limit.key()));
    }
    Ok(Reply { limits, words, results })
}

fn defined(key: &str, text: &str) -> Result<Limit, LimitError> {
    if text.starts_with('{') { Limit::from_json(text) } else { Limit::parse(key, text) }
}

impl Step<'_> {
    fn call(&self) -> Result<Call, LimitError> {
        Ok(match self.call {
            "limit" => Call::Limit,
            "peek" => Call::Peek,
            "charge" => Call::Charge,
            "refund" => Call::Refund,
            "reset" => Call::Reset,
            "acquire" => Call::Acquire { max_wait: duration(self.max_wait_ms.unwrap_or(0.0)) },
            "block" => Call::Block { time: duration(self.for_ms.unwrap_or(0.0)) },
            "observe" => Call::Observe { remaining: self.remaining, retry_after: self.retry_after_ms.map(duration) },
            other => return Err(LimitError::new(ErrorKind::Range, "", "call", "must be the name of a call", other)),
        })
    }
}

impl Outcome {
    fn of(info: &LimitInfo, with_headers: bool, key: &str) -> Self {
        let headers = || [x(info), ietf(&[Policy::new(key, info)], 0, Draft::V11)].concat();
        Self {
            blocked: info.blocked,
            remaining: info.remaining,
            reset_ms: info.reset_ms,
            reset_sec: info.reset_sec(),
            full_reset_ms: info.full_reset_ms,
            full_reset_sec: info.full_reset_sec(),
            wait_ms: info.wait_ms,
            quota: info.quota,
            headers: if with_headers { headers() } else { Vec::new() },
        }
    }
}

/// Halves up, as durations are read everywhere; what is below 0 or no number is 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast from a double stays in bounds")]
fn micros(millis: f64) -> Micros {
    (millis * 1000.0 + 0.5).floor() as Micros
}

fn duration(millis: f64) -> Duration {
    Duration::from_micros(micros(millis))
}
