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
    fn what_is_no_address_is_an_error() {
        for text in ["", "unknown", "ip:203.0.113.9", "203.0.113.9, 10.0.0.1", "/run/app.sock"] {
            assert_eq!(client_of(text, 64).expect_err(text).field(), "address");
        }
        assert_eq!(client_of("::1", 0).expect_err("no prefix").field(), "ipv6Prefix");
    }
}
