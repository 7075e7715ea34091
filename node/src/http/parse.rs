//! Headers of responses, read back.

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use tidegate::ffi;
use tidegate::headers::{PolicyFields, parse};

use crate::errors::Failure;

/// The rate limits in headers.
#[napi(object, object_from_js = false)]
pub(crate) struct RateLimits {
    /// The policies.
    pub policies: Vec<RateLimitPolicy>,
    /// The size of the limit.
    pub limit: Option<f64>,
    /// The units that are left.
    pub remaining: Option<f64>,
    /// Milliseconds until more is available.
    pub reset_ms: Option<f64>,
    /// Milliseconds until all of it is.
    pub full_reset_ms: Option<f64>,
    /// Milliseconds to wait.
    pub retry_after_ms: Option<f64>,
}

/// One policy.
#[napi(object, object_from_js = false)]
pub(crate) struct RateLimitPolicy {
    /// Its name.
    pub name: Option<String>,
    /// Its quota.
    pub quota: Option<f64>,
    /// Its window in milliseconds.
    pub window_ms: Option<f64>,
    /// The units that are left.
    pub remaining: Option<f64>,
    /// Milliseconds until more is available.
    pub reset_ms: Option<f64>,
    /// The units that the request took.
    pub cost: Option<f64>,
    /// The unit of the quota.
    pub unit: Option<String>,
    /// The partition of the quota.
    pub partition_key: Option<String>,
}

/// Reads names and values; `now` is milliseconds since the epoch.
#[napi(catch_unwind)]
pub(crate) fn parse_headers(names: Vec<String>, values: Vec<String>, now: f64) -> Either<RateLimits, Failure> {
    let now = match ffi::instant("", now) {
        Ok(now) => now,
        Err(error) => return Either::B(*Box::<Failure>::from(error)),
    };
    let pairs = names.iter().zip(&values).map(|(name, value)| (name.as_str(), value.as_str()));
    let read = parse(pairs, Some(now));
    let number = |number: Option<u64>| number.map(|number| number as f64);
    let policy = |policy: PolicyFields| RateLimitPolicy {
        name: policy.name,
        quota: number(policy.quota),
        window_ms: number(policy.window_ms),
        remaining: number(policy.remaining),
        reset_ms: number(policy.reset_ms),
        cost: number(policy.cost),
        unit: policy.unit,
        partition_key: policy.partition_key,
    };
    Either::A(RateLimits {
        policies: read.policies.into_iter().map(policy).collect(),
        limit: number(read.limit),
        remaining: number(read.remaining),
        reset_ms: number(read.reset_ms),
        full_reset_ms: number(read.full_reset_ms),
        retry_after_ms: number(read.retry_after_ms),
    })
}
