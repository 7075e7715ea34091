//! `X-RateLimit-Limit`, `-Remaining`, `-Reset`: the fields of most libraries and services.

use super::Header;
use crate::info::LimitInfo;
use crate::names::named;

/// The form of `X-RateLimit-Reset` in the [common](common()) fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reset {
    /// Seconds from now.
    #[default]
    Seconds,
    /// Seconds since the Unix epoch, counted from the [instant](LimitInfo::at) of the answer.
    Epoch,
}

named!(Reset, "reset", Seconds = "seconds", Epoch = "epoch");

/// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`, and for a denial `Retry-After` too, all whole
/// numbers.
///
/// `Reset` is when the whole limit is available again; in a denial it is when the call would be admitted, as in
/// `Retry-After`. An answer without a limit has no fields.
///
/// ```
/// use tidegate::headers::{Reset, common};
/// use tidegate::{Call, Limit, State};
///
/// let login = Limit::bucket("login", 10).build()?;
/// let (info, _) = login.decide(State::default(), 1_750_000_000_000_000, Call::Limit)?;
/// assert_eq!(common(&info, Reset::Seconds), [
///     ("X-RateLimit-Limit", "10".to_owned()),
///     ("X-RateLimit-Remaining", "9".to_owned()),
///     ("X-RateLimit-Reset", "1".to_owned()),
/// ]);
/// assert_eq!(common(&info, Reset::Epoch)[2], ("X-RateLimit-Reset", "1750000001".to_owned()));
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[must_use]
pub fn common(info: &LimitInfo, reset: Reset) -> Vec<Header> {
    if !info.is_limited() {
        return Vec::new();
    }
    let millis = if info.blocked { info.reset_ms } else { info.full_reset_ms };
    let seconds = match reset {
        Reset::Seconds => millis.div_ceil(1000),
        Reset::Epoch => millis.saturating_mul(1000).saturating_add(info.at).div_ceil(1_000_000),
    };
    let mut headers = vec![
        ("X-RateLimit-Limit", info.quota.to_string()),
        ("X-RateLimit-Remaining", info.remaining.to_string()),
        ("X-RateLimit-Reset", seconds.to_string()),
    ];
    if info.blocked {
        headers.push(("Retry-After", info.reset_sec().to_string()));
    }
    headers
}
