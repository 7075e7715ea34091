//! Responses to an HTTP client, judged.

use napi::Result;
use napi::bindgen_prelude::{Either, Unknown};
use napi_derive::napi;
use tidegate::ffi;
use tidegate::http::{self, OUTGOING_OPTIONS, Reply};

use crate::errors::Failure;
use crate::limits::Made;
use crate::numbers::whole;
use crate::registry;
use crate::value::value;

/// The settings of an HTTP client's calls.
#[napi]
pub(crate) struct Outgoing(http::Outgoing);

/// The consequences of a response.
#[napi(object, object_from_js = false)]
pub(crate) struct Next {
    /// Index of a limit and its units, in turn.
    pub remaining: Vec<f64>,
    /// Milliseconds for which to stop all callers.
    pub stop_ms: Option<f64>,
    /// Milliseconds after which to repeat the request.
    pub retry_in_ms: Option<f64>,
}

/// Settings of limits by their numbers, and options by name; a list is one pair for each of its items.
#[napi(catch_unwind)]
pub(crate) fn make_outgoing(
    limits: Vec<f64>,
    names: Vec<String>,
    values: Vec<Unknown<'_>>,
) -> Result<Either<Outgoing, Failure>> {
    let values = values.iter().map(value).collect::<Result<Vec<_>>>()?;
    let limits = registry::with(|registry| {
        let found = limits.iter().map(|limit| registry.limits.get(*limit).cloned());
        found.collect::<Option<Vec<_>>>()
    });
    let Some(limits) = limits else { return Ok(Either::B(*Failure::internal("no such limit"))) };
    Ok(match http::Outgoing::from_fields(limits, names.into_iter().zip(values)) {
        Ok(outgoing) => Either::A(Outgoing(outgoing)),
        Err(error) => Either::B(*Box::<Failure>::from(error)),
    })
}

/// The names of all options.
#[napi]
pub(crate) fn outgoing_options() -> Vec<&'static str> {
    OUTGOING_OPTIONS.to_vec()
}

/// The limit that stops all callers.
#[napi]
pub(crate) fn stop_limit() -> Made {
    Made::new(&http::Outgoing::stop())
}

#[napi]
#[expect(unreachable_pub, reason = "napi takes no others")]
impl Outgoing {
    /// The indices of the limits that can be observed.
    #[napi(catch_unwind)]
    pub fn observed(&self) -> Vec<f64> {
        self.0.observed().into_iter().map(|index| index as f64).collect()
    }

    /// True if one of the limits is held until the response has been read.
    #[napi(catch_unwind)]
    pub fn holds(&self) -> bool {
        self.0.holds()
    }

    /// Judges a response; `now` is milliseconds since the epoch.
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "as napi passes them")]
    #[napi(catch_unwind)]
    pub fn judge(
        &self,
        status: f64,
        names: Vec<String>,
        values: Vec<String>,
        method: String,
        attempt: f64,
        replayable: bool,
        left: Vec<f64>,
        random: f64,
        now: f64,
    ) -> Either<Next, Failure> {
        let now = match ffi::instant("", now) {
            Ok(now) => Some(now),
            Err(error) => return Either::B(*Box::<Failure>::from(error)),
        };
        let headers: Vec<_> = names.iter().zip(&values).map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let left: Vec<_> = left.into_iter().map(whole).collect();
        let next = self.0.judge(&Reply {
            status: u16::try_from(whole(status)).unwrap_or_default(),
            headers: &headers,
            method: &method,
            attempt: u32::try_from(whole(attempt)).unwrap_or(u32::MAX),
            replayable,
            left: &left,
            random,
            now,
        });
        let number = |number: Option<u64>| number.map(|number| number as f64);
        Either::A(Next {
            remaining: next.remaining.iter().flat_map(|(index, units)| [*index as f64, *units as f64]).collect(),
            stop_ms: number(next.stop_ms),
            retry_in_ms: number(next.retry_in_ms),
        })
    }
}
