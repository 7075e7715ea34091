//! `X-RateLimit-…` and `Retry-After`.

use super::Header;
use crate::info::LimitInfo;

/// `X-RateLimit-Remaining` and `X-RateLimit-Clear`, and for a denial `X-RateLimit-Reset` and `Retry-After` too.
///
/// `Clear` and `Reset` are seconds with up to three decimals, `Retry-After` is whole seconds.
///
/// ```
/// use tidegate::{Call, Limit, State, headers};
///
/// let door = Limit::bucket("door", 1).build()?;
/// let (info, state) = door.decide(State::default(), 0, Call::Limit)?;
/// let (denied, _) = door.decide(state, 245_000, Call::Limit)?;
/// assert_eq!(headers::x(&denied), [
///     ("X-RateLimit-Remaining", "0".to_owned()),
///     ("X-RateLimit-Clear", "0.755".to_owned()),
///     ("X-RateLimit-Reset", "0.755".to_owned()),
///     ("Retry-After", "1".to_owned()),
/// ]);
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[must_use]
pub fn x(info: &LimitInfo) -> Vec<Header> {
    crate::panics::point("headers");
    let mut headers =
        vec![("X-RateLimit-Remaining", info.remaining.to_string()), ("X-RateLimit-Clear", seconds(info.full_reset_ms))];
    if info.blocked {
        headers.push(("X-RateLimit-Reset", seconds(info.reset_ms)));
        headers.push(("Retry-After", info.reset_sec().to_string()));
    }
    headers
}

/// Milliseconds as seconds: at most three decimals, no trailing zeros.
fn seconds(millis: u64) -> String {
    let (whole, mut rest, mut unit) = (millis / 1000, (millis % 1000) as u32, 100);
    if rest == 0 {
        return whole.to_string();
    }
    let mut text = format!("{whole}.");
    while rest > 0 {
        text.extend(char::from_digit(rest / unit, 10));
        (rest, unit) = (rest % unit, unit / 10);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_no_trailing_zeros() {
        let cases = [(0, "0"), (1, "0.001"), (755, "0.755"), (1500, "1.5"), (12_000, "12"), (12_340, "12.34")];
        for (millis, text) in cases {
            assert_eq!(seconds(millis), text);
        }
    }
}
