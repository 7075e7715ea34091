//! The limits of a server, as its responses tell of them: the fields of [`parse`], and those of services that have their own.

use crate::headers::parse::date::{rfc3339, seconds};
use crate::headers::{PolicyFields, RateLimits, parse};
use crate::time::Micros;

/// The bytes of a value that are read; those of services are far shorter.
const MOST_BYTES: usize = 64;

/// One limit of the server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub(super) limit: Option<u64>,
    pub(super) remaining: Option<u64>,
    /// Milliseconds until more is available, or all of it: services differ.
    reset_ms: Option<u64>,
    /// It counts something else than requests.
    is_other: bool,
}

pub(super) struct Said {
    pub(super) retry_after_ms: Option<u64>,
    figures: Vec<Figures>,
}

impl Said {
    pub(super) fn read(headers: &[(&str, &str)], now: Option<Micros>) -> Self {
        let RateLimits { policies, limit, remaining, reset_ms, retry_after_ms, .. } =
            parse(headers.iter().copied(), now);
        let date = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("date"));
        let now = date.and_then(|(_, value)| Some(seconds(value.trim())? * 1000)).or(now.map(|now| now / 1000));
        let is_other = |policy: &PolicyFields| policy.unit.as_deref().is_some_and(|unit| unit != "requests");
        // Of several policies the fields above describe the tightest, which may be one of another unit.
        let is_mixed = policies.iter().any(is_other);
        let mut figures = vec![Figures { limit, remaining, reset_ms, is_other: is_mixed }];
        figures.extend(policies.iter().map(|policy| Figures {
            limit: policy.quota,
            remaining: policy.remaining,
            reset_ms: policy.reset_ms,
            is_other: is_other(policy),
        }));
        figures.extend(of_services(headers, now));
        Self { retry_after_ms, figures }
    }

    /// The server's limits of requests.
    pub(super) fn requests(&self) -> impl Iterator<Item = &Figures> {
        self.figures.iter().filter(|figures| !figures.is_other)
    }

    /// One of the limits has nothing left.
    pub(super) fn is_used_up(&self) -> bool {
        self.figures.iter().any(|figures| figures.remaining == Some(0))
    }

    /// The wait of a refused caller: `Retry-After`, else until what is used up is there again; where nothing
    /// says how much is left, until the limit is.
    pub(super) fn wait_ms(&self) -> Option<u64> {
        let used_up = || self.figures.iter().filter(|figures| figures.remaining == Some(0));
        let is_silent = || self.figures.iter().all(|figures| figures.remaining.is_none());
        self.retry_after_ms
            .or_else(|| used_up().filter_map(|figures| figures.reset_ms).max())
            .or_else(|| self.figures.iter().filter_map(|figures| figures.reset_ms).max().filter(|_| is_silent()))
    }
}

/// The units that services count apart.
const UNITS: [&str; 4] = ["requests", "tokens", "input-tokens", "output-tokens"];

/// `x-ratelimit-remaining-requests` and its kind, as the API of `OpenAI` and those like it send them, and
/// `anthropic-ratelimit-requests-remaining`.
fn of_services(headers: &[(&str, &str)], now: Option<u64>) -> Vec<Figures> {
    let mut figures = [None; 2 * UNITS.len()];
    for (name, value) in headers.iter().filter(|(name, _)| name.len() <= MOST_BYTES) {
        let name = name.to_ascii_lowercase();
        let found = if let Some(rest) = name.strip_prefix("anthropic-ratelimit-") {
            rest.rsplit_once('-').map(|(unit, field)| (UNITS.len(), unit, field))
        } else {
            name.strip_prefix("x-ratelimit-")
                .and_then(|rest| rest.split_once('-'))
                .map(|(field, unit)| (0, unit, field))
        };
        let Some((base, unit, field)) = found else { continue };
        let Some(place) = UNITS.iter().position(|known| *known == unit) else { continue };
        let value = value.trim();
        if value.len() > MOST_BYTES {
            continue;
        }
        let known = figures[base + place].get_or_insert(Figures { is_other: place > 0, ..Figures::default() });
        match field {
            "limit" => known.limit = known.limit.or(value.parse().ok()),
            "remaining" => known.remaining = known.remaining.or(value.parse().ok()),
            "reset" => {
                let until = || Some(rfc3339(value)?.saturating_sub(now?));
                known.reset_ms = known.reset_ms.or_else(|| duration(value)).or_else(until);
            }
            _ => {}
        }
    }
    figures.into_iter().flatten().collect()
}

/// `6m0s`, `88ms` or `7.66s` in milliseconds, rounded up; a number alone is seconds.
fn duration(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut millis = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        let number = number.parse::<f64>().ok()?;
        let end = behind.find(|letter: char| letter.is_ascii_digit() || letter == '.').unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        millis += number
            * match unit {
                "d" => 86_400_000.0,
                "h" => 3_600_000.0,
                "m" => 60_000.0,
                "s" => 1000.0,
                "" if number_alone(text) => 1000.0,
                "ms" => 1.0,
                "us" | "µs" | "μs" => 0.001,
                "ns" => 0.000_001,
                _ => return None,
            };
        rest = behind;
    }
    // Decimals are doubles here: 0.1 + 0.2 is no reason to wait a millisecond longer.
    let up = (millis - 1e-6).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within its bounds")]
    (!text.is_empty() && (0.0..1e15).contains(&millis)).then_some(up.max(0.0) as u64)
}

fn number_alone(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_services() {
        for (text, millis) in [
            ("6m0s", Some(360_000)),
            ("88ms", Some(88)),
            ("7.66s", Some(7660)),
            ("1h30m", Some(5_400_000)),
            ("2m59.56s", Some(179_560)),
            ("1d", Some(86_400_000)),
            ("120µs", Some(1)),
            ("0s", Some(0)),
            ("1.5", Some(1500)),
            ("", None),
            ("s", None),
            ("1m5", None),
            ("1.2.3s", None),
            ("-1s", None),
            ("5 s", None),
            ("9999999999999999h", None),
            ("1994-11-06T08:49:37Z", None),
        ] {
            assert_eq!(duration(text), millis, "{text}");
        }
    }
}
