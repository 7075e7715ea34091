//! Headers of responses, read back.

use pyo3::prelude::*;
use tidegate::headers::{PolicyFields, RateLimits, parse};

use crate::args::Arg;

/// A policy in the order of ``RateLimitPolicy``.
type PolicyParts =
    (Option<String>, Option<u64>, Option<u64>, Option<u64>, Option<u64>, Option<u64>, Option<String>, Option<String>);

/// The values in the order of ``RateLimits``.
type Parts = (Vec<PolicyParts>, Option<u64>, Option<u64>, Option<u64>, Option<u64>, Option<u64>);

/// Reads pairs of name and value; ``now`` is milliseconds since the epoch.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as it is extracted")]
#[pyo3(name = "_parse_headers", signature = (pairs, now, /))]
pub(crate) fn parse_headers(pairs: Vec<(String, String)>, now: Arg<'_, '_>) -> PyResult<Parts> {
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let RateLimits { policies, limit, remaining, reset_ms, full_reset_ms, retry_after_ms, .. } =
        parse(pairs, now.now("")?);
    Ok((policies.into_iter().map(parts).collect(), limit, remaining, reset_ms, full_reset_ms, retry_after_ms))
}

fn parts(policy: PolicyFields) -> PolicyParts {
    let PolicyFields { name, quota, window_ms, remaining, reset_ms, cost, unit, partition_key, .. } = policy;
    (name, quota, window_ms, remaining, reset_ms, cost, unit, partition_key)
}
