//! The way back: what a response says of rate limits, in any style.

pub(crate) mod date;
mod fields;

use std::collections::HashMap;

use super::structured::{Bare, Member, members};
use crate::time::Micros;
use fields::Fields;

/// The rate limits in a response's headers. A value that is missing, or cannot be read, is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimits {
    /// The policies, in the order of the response.
    pub policies: Vec<PolicyFields>,
    /// The size of the limit; with several policies, of the tightest one.
    pub limit: Option<u64>,
    /// The units that are left; with several policies, of the tightest one.
    pub remaining: Option<u64>,
    /// Milliseconds until more is available.
    pub reset_ms: Option<u64>,
    /// Milliseconds until all of it is available, as `X-RateLimit-Clear` says.
    pub full_reset_ms: Option<u64>,
    /// Milliseconds to wait before the next request, as `Retry-After` says. It goes before all other times.
    pub retry_after_ms: Option<u64>,
}

/// One policy, from `RateLimit-Policy` and `RateLimit`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyFields {
    /// Its name; drafts before the 8th have none.
    pub name: Option<String>,
    /// Its quota (`q`).
    pub quota: Option<u64>,
    /// The window of its quota in milliseconds (`w`).
    pub window_ms: Option<u64>,
    /// The quota that is left (`r`, or `a` as the editors propose).
    pub remaining: Option<u64>,
    /// Milliseconds until more is available (`t`, or `w` beside an `a`).
    pub reset_ms: Option<u64>,
    /// The units that the request took (`c`, as the editors propose).
    pub cost: Option<u64>,
    /// The unit of the quota (`qu`); requests unless it is named.
    pub unit: Option<String>,
    /// The partition that the quota is for (`pk`), in base64.
    pub partition_key: Option<String>,
}

/// Reads what the headers of a response say of rate limits: all that [`x`](super::x), [`common`](super::common()) and
/// [`ietf`](super::ietf()) write in any draft, and what other libraries and services write in the same fields.
///
/// `X-RateLimit-Reset` is taken for an epoch from 10^9 seconds on, and for milliseconds from 10^12 on. Such a time, and
/// a date in `Retry-After`, are counted from the `Date` of the response, or else from `now`; without either they are
/// none. At most 64 KiB are read, and of one field 128 members, each with 128 parameters. What is malformed is passed
/// over.
///
/// ```
/// let limits = tidegate::headers::parse(
///     [
///         ("RateLimit-Policy", r#""burst";q=100;w=60, "daily";q=1000;w=86400"#),
///         ("RateLimit", r#""burst";r=0;t=17, "daily";r=640;t=87"#),
///         ("Retry-After", "17"),
///     ],
///     None,
/// );
/// assert_eq!((limits.limit, limits.remaining, limits.retry_after_ms), (Some(100), Some(0), Some(17_000)));
/// assert_eq!(limits.policies[1].name.as_deref(), Some("daily"));
/// assert_eq!((limits.policies[1].window_ms, limits.policies[1].remaining), (Some(86_400_000), Some(640)));
/// ```
#[must_use]
pub fn parse<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>, now: Option<Micros>) -> RateLimits {
    let fields = Fields::read(headers, now);
    let mut limits = RateLimits {
        limit: fields.limit,
        remaining: fields.remaining,
        reset_ms: fields.reset_ms,
        full_reset_ms: fields.full_reset_ms,
        retry_after_ms: fields.retry_after_ms,
        ..RateLimits::default()
    };
    for field in &fields.policies {
        limits.policies.extend(members(field).iter().filter_map(policy));
    }
    let mut states = Vec::new();
    for member in fields.states.iter().flat_map(|field| members(field)) {
        match (&member.head, &member.value) {
            (Bare::Word(key), Some(value)) => {
                let known = match key.as_str() {
                    "limit" => &mut limits.limit,
                    "remaining" => &mut limits.remaining,
                    "reset" => {
                        limits.reset_ms = limits.reset_ms.or(value.number().map(millis));
                        continue;
                    }
                    _ => continue,
                };
                *known = known.or(value.number());
            }
            _ => states.extend(state(&member)),
        }
    }
    join(&mut limits.policies, states);
    sum_up(&mut limits);
    limits
}

/// Of `RateLimit-Policy`: `"login";q=10;w=10`, or `10;w=10` in drafts before the 8th.
fn policy(member: &Member) -> Option<PolicyFields> {
    let mut policy = PolicyFields::default();
    match (&member.head, member.head.number()) {
        (_, Some(quota)) => policy.quota = Some(quota),
        (Bare::Text(name) | Bare::Word(name), None) => policy.name = Some(name.clone()),
        (Bare::Bytes(_), None) => return None,
    }
    for (name, value) in &member.params {
        match name.as_str() {
            // It was `l` for a while.
            "q" | "l" => policy.quota = policy.quota.or(value.number()),
            "w" | "window" => policy.window_ms = value.number().map(millis),
            _ => beside(&mut policy, name, value),
        }
    }
    Some(policy)
}

/// Of `RateLimit`: `"login";r=9;t=1`, or `"login";a=9;w=1`.
fn state(member: &Member) -> Option<PolicyFields> {
    let (Bare::Text(name) | Bare::Word(name)) = &member.head else { return None };
    let mut state = PolicyFields { name: Some(name.clone()), ..PolicyFields::default() };
    for (name, value) in &member.params {
        match name.as_str() {
            "r" | "a" => state.remaining = value.number(),
            "t" | "w" => state.reset_ms = value.number().map(millis),
            // Some services repeat it here.
            "q" => state.quota = value.number(),
            "c" => state.cost = value.number(),
            _ => beside(&mut state, name, value),
        }
    }
    Some(state)
}

fn beside(policy: &mut PolicyFields, name: &str, value: &Bare) {
    match (name, value) {
        ("qu", Bare::Text(unit) | Bare::Word(unit)) => policy.unit = Some(unit.clone()),
        ("pk", Bare::Bytes(key) | Bare::Text(key) | Bare::Word(key)) => policy.partition_key = Some(key.clone()),
        _ => {}
    }
}

/// Puts each state to the policy of its name; where several have one name, in their order.
fn join(policies: &mut Vec<PolicyFields>, states: Vec<PolicyFields>) {
    let mut places = HashMap::<Option<String>, Vec<usize>>::new();
    for (place, policy) in policies.iter().enumerate().rev() {
        places.entry(policy.name.clone()).or_default().push(place);
    }
    for state in states {
        match places.get_mut(&state.name).and_then(Vec::pop) {
            Some(place) => {
                let policy = &mut policies[place];
                policy.remaining = state.remaining;
                policy.reset_ms = state.reset_ms;
                policy.cost = state.cost;
                policy.quota = policy.quota.or(state.quota);
                policy.unit = policy.unit.take().or(state.unit);
                policy.partition_key = policy.partition_key.take().or(state.partition_key);
            }
            None => policies.push(state),
        }
    }
}

/// Takes what no field says of all policies together from the tightest one: the one with the least left, of equals the
/// one that takes longest.
fn sum_up(limits: &mut RateLimits) {
    let tightness = |policy: &&PolicyFields| (policy.remaining, std::cmp::Reverse(policy.reset_ms));
    let tightest = limits.policies.iter().filter(|policy| policy.remaining.is_some()).min_by_key(tightness);
    if let Some(policy) = tightest {
        // The size of one limit and what is left of another would make no sense together.
        if limits.remaining.is_none_or(|remaining| Some(remaining) == policy.remaining) {
            limits.limit = limits.limit.or(policy.quota);
        }
        limits.remaining = limits.remaining.or(policy.remaining);
        limits.reset_ms = limits.reset_ms.or(policy.reset_ms);
    } else if let [policy] = &limits.policies[..] {
        limits.limit = limits.limit.or(policy.quota);
    }
}

fn millis(seconds: u64) -> u64 {
    seconds.saturating_mul(1000)
}
