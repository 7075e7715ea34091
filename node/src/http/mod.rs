//! The engine's part of every web framework: names and types translated, nothing decided.

mod outgoing;
mod parse;
mod plan;
mod room;

use napi::Result;
use napi::bindgen_prelude::{Either, Either3, Float64Array, Unknown};
use napi_derive::napi;
use tidegate::LimitInfo;
use tidegate::headers::{Header, Policy};
use tidegate::http::{self, GATE_OPTIONS, Mistake, Warning, combined, forget_mistakes};

use crate::errors::Failure;
use crate::numbers::whole;
use crate::text::actor_text;
use crate::value::value;

/// The numbers of an answer, in the order of `lib/http.ts`.
const WIDTH: usize = 9;

/// A gate, kept by the object in JavaScript.
#[napi]
pub(crate) struct Gate(http::Gate);

/// Makes a gate of names and values; a list is one pair for each of its items.
#[napi(catch_unwind)]
pub(crate) fn make_gate(names: Vec<String>, values: Vec<Unknown<'_>>) -> Result<Either<Gate, Failure>> {
    let values = values.iter().map(value).collect::<Result<Vec<_>>>()?;
    Ok(match http::Gate::from_fields(names.into_iter().zip(values)) {
        Ok(gate) => Either::A(Gate(gate)),
        Err(error) => Either::B(*Box::<Failure>::from(error)),
    })
}

/// The names of all options, for the test that holds the types against them.
#[napi]
pub(crate) fn gate_options() -> Vec<&'static str> {
    GATE_OPTIONS.to_vec()
}

/// Code and sentence of every mistake, in turn.
#[napi]
pub(crate) fn mistakes() -> Vec<&'static str> {
    Mistake::ALL.iter().flat_map(|mistake| [mistake.code(), mistake.sentence()]).collect()
}

/// The URL of the page of a mistake.
#[napi]
pub(crate) fn mistake_page(code: String) -> String {
    tidegate::ffi::page_of(&code)
}

/// Forgets the mistakes that were reported.
#[napi(js_name = "forgetMistakes")]
pub(crate) fn forget() {
    forget_mistakes();
}

/// A client with a warning that is to be given.
#[napi(object, object_from_js = false)]
pub(crate) struct Warned {
    /// The client.
    pub actor: String,
    /// The code of the mistake.
    pub code: &'static str,
    /// The sentence.
    pub text: String,
}

/// The response to a request that is denied.
#[napi(object, object_from_js = false)]
pub(crate) struct Refusal {
    /// The status.
    pub status: f64,
    /// Names and values in turn.
    pub headers: Vec<String>,
    /// The body.
    pub body: String,
    /// The value of `Content-Type`.
    pub media_type: &'static str,
    /// The seconds to wait.
    pub retry_after: f64,
}

#[napi]
#[expect(unreachable_pub, reason = "napi takes no others")]
impl Gate {
    /// The name of the header whose lines `client` takes, in lower case.
    #[napi]
    pub fn header_name(&self) -> String {
        self.0.header_name().to_owned()
    }

    /// True if no header is believed.
    #[napi]
    pub fn trusts_nobody(&self) -> bool {
        self.0.trusts_nobody()
    }

    /// The client of a request, by its peer and all lines of the forwarded header.
    #[napi(catch_unwind)]
    pub fn client(&self, peer: Option<String>, lines: Vec<String>) -> Either3<String, Warned, Failure> {
        match self.0.client(peer.as_deref(), &lines) {
            Ok(client) => match client.warning {
                None => Either3::A(client.actor),
                Some(Warning { mistake, text, .. }) => {
                    Either3::B(Warned { actor: client.actor, code: mistake.code(), text })
                }
            },
            Err(error) => Either3::C(*Failure::configuration(error)),
        }
    }

    /// Names and values in turn, of a response with this status and these answers.
    #[napi(catch_unwind)]
    pub fn headers(&self, answers: Float64Array, keys: Vec<String>, status: f64) -> Vec<String> {
        let infos = infos(&answers);
        flat(self.0.headers(&policies(&keys, &infos), u16::try_from(whole(status)).unwrap_or(0)))
    }

    /// The response to a request that is denied.
    #[napi(catch_unwind)]
    pub fn refusal(
        &self,
        answers: Float64Array,
        keys: Vec<String>,
        accept: Vec<String>,
        detail: Option<String>,
    ) -> Refusal {
        let infos = infos(&answers);
        refusal_of(self.0.refusal(&policies(&keys, &infos), &accept, detail.as_deref()))
    }

    /// The response to a request that cannot be decided, by the name of its error.
    #[napi(catch_unwind)]
    pub fn rejection(&self, name: String, accept: Vec<String>) -> Either<Refusal, Failure> {
        room::named(&name)
            .map_or_else(|failure| Either::B(*failure), |error| Either::A(refusal_of(self.0.rejection(error, &accept))))
    }

    /// The sentence of a mistake that is to be reported now.
    #[napi(catch_unwind)]
    pub fn report(&self, code: String, detail: String) -> Either3<String, (), Failure> {
        match code.parse::<Mistake>() {
            Ok(mistake) => self.0.report(mistake, &detail).map_or(Either3::B(()), |warning| Either3::A(warning.text)),
            Err(error) => Either3::C(*Box::<Failure>::from(error)),
        }
    }
}

fn refusal_of(refusal: http::Refusal) -> Refusal {
    Refusal {
        status: f64::from(refusal.status),
        headers: flat(refusal.headers),
        body: refusal.body,
        media_type: refusal.media_type,
        retry_after: refusal.retry_after as f64,
    }
}

/// The answers, each with its cost; one below 0 is not known.
fn infos(numbers: &[f64]) -> Vec<(LimitInfo, f64)> {
    let (answers, _) = numbers.as_chunks::<WIDTH>();
    let info = |numbers: &[f64; WIDTH]| {
        let [blocked, remaining, reset_ms, full_reset_ms, next_ms, quota, window_ms, at, _] = numbers.map(whole);
        let mut info = LimitInfo::unlimited();
        info.blocked = blocked > 0;
        info.remaining = remaining;
        info.reset_ms = reset_ms;
        info.full_reset_ms = full_reset_ms;
        info.next_ms = next_ms;
        info.quota = quota;
        info.window_ms = window_ms;
        info.at = at;
        (info, numbers[WIDTH - 1])
    };
    answers.iter().map(info).collect()
}

/// The answer of one check for its headers.
pub(crate) fn policy<'a>(key: &'a str, info: &'a LimitInfo, cost: f64) -> Policy<'a> {
    let policy = Policy::new(key, info);
    if cost < 0.0 { policy } else { policy.cost(whole(cost)) }
}

fn policies<'a>(keys: &'a [String], infos: &'a [(LimitInfo, f64)]) -> Vec<Policy<'a>> {
    keys.iter().zip(infos).map(|(key, (info, cost))| policy(key, info, *cost)).collect()
}

fn flat(headers: Vec<Header>) -> Vec<String> {
    headers.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
}

/// The error for an actor that cannot be one, if it is.
#[napi(catch_unwind)]
pub(crate) fn check_actor(actor: Unknown<'_>) -> Option<Failure> {
    actor_text(&actor, String::new).err().map(|failure| *failure)
}

/// Of each check that stays its index and its cost in turn.
#[napi(catch_unwind)]
pub(crate) fn combine(
    limits: Vec<f64>,
    actors: Vec<Unknown<'_>>,
    costs: Vec<f64>,
    factors: Vec<f64>,
) -> Either<Vec<f64>, Failure> {
    let kept = plan::with_checks(&limits, &actors, &costs, &factors, |checks| {
        let kept = combined(checks).kept.into_iter();
        kept.flat_map(|(index, check)| [index as f64, check.units() as f64]).collect()
    });
    kept.map_or_else(|failure| Either::B(*failure), Either::A)
}
