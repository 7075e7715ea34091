//! Names of actors: addresses of clients, and keys that applications choose, in one space without overlap.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::error::LimitError;
use crate::http::address::{address, push_network};
use crate::limit::Value;

/// The mark of an address.
const ADDRESS: &str = "ip:";
/// The length of the longest address with its mark and a prefix.
const LONGEST: usize = ADDRESS.len() + "1111:2222:3333:4444:5555:6666:7777:8888/128".len();
/// The mark of a key that would look like something else.
const KEY: &str = "key:";

/// The actor that stands for a client's address: the address marked with `ip:`, of IPv6 the network of this prefix.
///
/// Limits without a key count under it, so this is the actor to pass where a client is limited, reset or looked at by
/// hand. The address may have a port and a zone, which do not count.
///
/// ```
/// use tidegate::http::client_of;
///
/// assert_eq!(client_of("203.0.113.9", 64)?, "ip:203.0.113.9");
/// assert_eq!(client_of("2001:db8:1:2:3:4:5:6", 64)?, "ip:2001:db8:1:2::/64");
/// # Ok::<(), tidegate::LimitError>(())
/// ```
///
/// # Errors
/// When it is no address, or the prefix is not from 1 to 128.
pub fn client_of(text: &str, ipv6_prefix: u8) -> Result<String, LimitError> {
    if !(1..=128).contains(&ipv6_prefix) {
        return Err(LimitError::range("", "ipv6Prefix", "must be a whole number from 1 to 128", ipv6_prefix));
    }
    match address(text.as_bytes()) {
        Some(found) => Ok(actor_of(found, ipv6_prefix)),
        None => Err(LimitError::range("", "address", "must be an address of IP", Value::Text(text.to_owned()))),
    }
}

/// The same for an address that has been read.
pub(crate) fn actor_of(address: IpAddr, ipv6_prefix: u8) -> String {
    let mut actor = String::with_capacity(LONGEST);
    actor.push_str(ADDRESS);
    push_network(&mut actor, address, ipv6_prefix);
    actor
}

/// The actor that stands for a key, which a client may have chosen: the key itself.
///
/// One that begins with `ip:` or `key:` is marked with `key:`, so that nobody spends the limit of somebody's address.
///
/// ```
/// use tidegate::http::key_of;
///
/// assert_eq!(key_of("ada"), "ada");
/// assert_eq!(key_of("ip:203.0.113.9"), "key:ip:203.0.113.9");
/// ```
#[must_use]
pub fn key_of(key: &str) -> Cow<'_, str> {
    if key.starts_with(ADDRESS) || key.starts_with(KEY) {
        Cow::Owned(format!("{KEY}{key}"))
    } else {
        Cow::Borrowed(key)
    }
}

/// The actor that stands for a key that is a number: its digits as JavaScript writes them, so that a user whose key is one
/// has the same entries in every language. Nothing where it is not finite.
///
/// ```
/// use tidegate::http::key_of_number;
///
/// assert_eq!(key_of_number(0.00001).as_deref(), Some("0.00001"));
/// assert_eq!(key_of_number(1e21).as_deref(), Some("1e+21"));
/// assert_eq!(key_of_number(f64::NAN), None);
/// ```
#[must_use]
pub fn key_of_number(number: f64) -> Option<String> {
    if !number.is_finite() {
        return None;
    }
    let (sign, size) = (if number < 0.0 { "-" } else { "" }, number.abs());
    // The fewest digits that say the number; Rust does not choose the even ones of two that are as near.
    let fewest = format!("{size:e}").bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    let exact = format!("{size:.0$e}", fewest - 1);
    let (mantissa, power) = exact.split_once('e').unwrap_or((&exact, "0"));
    let (digits, power) = (mantissa.replace('.', ""), power.parse().unwrap_or(0_i32));
    Some(match (power, usize::try_from(power + 1)) {
        (0..21, Ok(whole)) => match digits.split_at_checked(whole) {
            Some((whole, part)) if !part.is_empty() => format!("{sign}{whole}.{part}"),
            _ => format!("{sign}{digits:0<whole$}"),
        },
        (-6..0, _) => format!("{sign}0.{digits:0>0$}", fewest + power.unsigned_abs() as usize - 1),
        _ => format!("{sign}{mantissa}e{power:+}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_an_address_and_no_two_keys_are_one_actor() {
        let keys = ["", "ada", "203.0.113.9", "ip:203.0.113.9", "ip:", "key:", "key:ip:", "key:key:", "IP:1", " ip:1"];
        let actors: std::collections::HashSet<_> = keys.iter().map(|key| key_of(key)).collect();
        assert_eq!(actors.len(), keys.len());
        assert!(actors.iter().all(|actor| !actor.starts_with("ip:")));
    }

    #[test]
    fn a_number_is_written_as_by_javascript() {
        let written = [
            (-0.0, "0"),
            (811_212_085_039_910.0 + 0.25, "811212085039910.2"),
            (0.25, "0.25"),
            (1.5, "1.5"),
            (-2.5e-5, "-0.000025"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (-2.5e-9, "-2.5e-9"),
            (5e-324, "5e-324"),
            (1e16, "10000000000000000"),
            (4_611_686_018_427_387_904.0, "4611686018427388000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (-1.5e300, "-1.5e+300"),
        ];
        for (number, text) in written {
            assert_eq!(key_of_number(number).as_deref(), Some(text));
        }
        assert_eq!([f64::NAN, f64::NEG_INFINITY].map(key_of_number), [None, None]);
    }

    #[test]
    fn what_is_no_address_is_an_error() {
        for text in ["", "unknown", "ip:203.0.113.9", "203.0.113.9, 10.0.0.1", "/run/app.sock"] {
            assert_eq!(client_of(text, 64).expect_err(text).field(), "address");
        }
        assert_eq!(client_of("::1", 0).expect_err("no prefix").field(), "ipv6Prefix");
    }
}
