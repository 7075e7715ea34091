//! The fields of a response that are about rate limits, each by its name.

use super::super::structured::{members, whole};
use super::date;
use crate::time::Micros;

/// The bytes of values that are read; a response's own headers are far shorter.
const MOST_BYTES: usize = 64 * 1024;

/// The content of each field by itself; of a field that stands twice, the first line that can be read. A client may have
/// joined its lines.
#[derive(Default)]
pub(super) struct Fields<'a> {
    /// Lines of `RateLimit-Policy`.
    pub(super) policies: Vec<&'a str>,
    /// Lines of `RateLimit`.
    pub(super) states: Vec<&'a str>,
    pub(super) limit: Option<u64>,
    pub(super) remaining: Option<u64>,
    pub(super) reset_ms: Option<u64>,
    pub(super) full_reset_ms: Option<u64>,
    pub(super) retry_after_ms: Option<u64>,
}

impl<'a> Fields<'a> {
    pub(super) fn read(headers: impl IntoIterator<Item = (&'a str, &'a str)>, now: Option<Micros>) -> Self {
        let mut fields = Self::default();
        let (mut resets, mut retries) = (Vec::new(), Vec::new());
        let mut now = now.map(|now| now / 1000);
        let mut budget = MOST_BYTES;
        for (name, value) in headers {
            let Some(field) = Field::named(name) else { continue };
            let Some(left) = budget.checked_sub(value.len() + 1) else { break };
            budget = left;
            let value = value.trim();
            match field {
                Field::Policy => fields.policies.push(value),
                Field::State => fields.states.push(value),
                Field::Limit => fields.limit = fields.limit.or_else(|| first_of(value)),
                Field::LimitOfDraft => {
                    // It may name the policies behind the limit: `100, 100;w=60`.
                    fields.limit = fields.limit.or_else(|| first_of(value));
                    if let Some((_, policies)) = value.split_once(',') {
                        fields.policies.push(policies);
                    }
                }
                Field::Remaining => fields.remaining = fields.remaining.or_else(|| first_of(value)),
                Field::Reset => resets.push(value),
                Field::ResetAfter => fields.reset_ms = fields.reset_ms.or_else(|| decimal_millis(first_line(value))),
                Field::Clear => {
                    fields.full_reset_ms = fields.full_reset_ms.or_else(|| decimal_millis(first_line(value)));
                }
                Field::RetryAfter => retries.push(value),
                Field::RetryAfterMs => {
                    fields.retry_after_ms = fields.retry_after_ms.or_else(|| whole(first_line(value)));
                }
                Field::Date => now = date::seconds(value).map(|seconds| seconds * 1000).or(now),
            }
        }
        let until = |instant: u64| now.map(|now| instant.saturating_sub(now));
        for reset in resets {
            fields.reset_ms = fields.reset_ms.or_else(|| match whole(first_line(reset)) {
                Some(millis @ 1_000_000_000_000..) => until(millis),
                Some(seconds @ 1_000_000_000..) => until(seconds * 1000),
                _ => decimal_millis(first_line(reset)).or_else(|| until(date::seconds(reset)? * 1000)),
            });
        }
        for retry in retries {
            let millis = || decimal_millis(first_line(retry)).or_else(|| until(date::seconds(retry)? * 1000));
            fields.retry_after_ms = fields.retry_after_ms.or_else(millis);
        }
        fields
    }
}

enum Field {
    Policy,
    State,
    Limit,
    LimitOfDraft,
    Remaining,
    Reset,
    ResetAfter,
    Clear,
    RetryAfter,
    RetryAfterMs,
    Date,
}

impl Field {
    fn named(name: &str) -> Option<Self> {
        // No name of ours is longer.
        if name.len() > 24 {
            return None;
        }
        Some(match name.to_ascii_lowercase().as_str() {
            "ratelimit-policy" | "x-ratelimit-policy" => Self::Policy,
            "ratelimit" => Self::State,
            "ratelimit-limit" => Self::LimitOfDraft,
            "x-ratelimit-limit" | "x-rate-limit-limit" => Self::Limit,
            "ratelimit-remaining" | "x-ratelimit-remaining" | "x-rate-limit-remaining" => Self::Remaining,
            "ratelimit-reset" | "x-ratelimit-reset" | "x-rate-limit-reset" => Self::Reset,
            "x-ratelimit-reset-after" => Self::ResetAfter,
            "x-ratelimit-clear" => Self::Clear,
            "retry-after" => Self::RetryAfter,
            "retry-after-ms" => Self::RetryAfterMs,
            "date" => Self::Date,
            _ => return None,
        })
    }
}

/// The first number of a field that may be a list.
fn first_of(value: &str) -> Option<u64> {
    members(value).first()?.head.number()
}

/// The first of lines that are joined by commas. A date has a comma of its own, behind what is no number.
fn first_line(value: &str) -> &str {
    value.split(',').next().unwrap_or_default().trim_end()
}

/// Seconds with any number of decimals in milliseconds, rounded up.
fn decimal_millis(value: &str) -> Option<u64> {
    let seconds = whole(value)?;
    let decimals = value.split_once('.').filter(|_| !value.starts_with('-')).map_or("", |(_, decimals)| decimals);
    let (millis, rest) = decimals.split_at(decimals.len().min(3));
    let digit = |at: usize| millis.as_bytes().get(at).map_or(0, |digit| u64::from(digit - b'0'));
    let part = digit(0) * 100 + digit(1) * 10 + digit(2) + u64::from(rest.bytes().any(|digit| digit != b'0'));
    Some(seconds.saturating_mul(1000).saturating_add(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_with_decimals() {
        for (text, millis) in [
            ("0", Some(0)),
            ("12", Some(12_000)),
            ("0.755", Some(755)),
            ("1.5", Some(1500)),
            ("1.0001", Some(1001)),
            ("1.0010", Some(1001)),
            ("-1.5", Some(0)),
            ("1.é", None),
            ("soon", None),
        ] {
            assert_eq!(decimal_millis(text), millis, "{text}");
        }
    }
}
