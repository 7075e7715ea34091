//! Addresses as servers and proxies write them, and networks of them.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest text that is looked at: an address with its port, and a zone of some length.
const LONGEST: usize = 128;

/// The address in a text such as `203.0.113.9`, `203.0.113.9:1234`, `[2001:db8::1]:80`, `"[2001:db8::1]"` or
/// `fe80::1%eth0`. Ports and zones are dropped, and IPv4 that is mapped into IPv6 is IPv4.
pub(crate) fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= LONGEST)?.trim_matches([' ', '\t']);
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let found = match text.strip_prefix('[') {
        Some(rest) => {
            let (inside, behind) = rest.split_once(']')?;
            let is_port = behind.is_empty() || behind.strip_prefix(':').is_some_and(is_port);
            ipv6(inside).filter(|_| is_port).map(IpAddr::V6)
        }
        None => match text.split_once(':') {
            None => text.parse().ok().map(IpAddr::V4),
            Some((host, port)) if is_port(port) => host.parse().ok().map(IpAddr::V4),
            Some(_) => ipv6(text).map(IpAddr::V6),
        },
    };
    found.map(|address| address.to_canonical())
}

fn ipv6(text: &str) -> Option<Ipv6Addr> {
    let (address, zone) = text.split_once('%').unwrap_or((text, "zone"));
    address.parse().ok().filter(|_| !zone.is_empty())
}

/// A port is a number, or a name that hides it, such as `_http`.
fn is_port(text: &str) -> bool {
    let is_number = (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_number || text.strip_prefix('_').is_some_and(|name| is_name(&name.replace(['.', '_', '-'], "0")))
}

/// Writes the network that counts as one client: an IPv4 address, or the addresses of IPv6 that share a prefix.
pub(crate) fn push_network(text: &mut String, address: IpAddr, ipv6_prefix: u8) {
    // A text takes whatever is written to it.
    let _ = match address {
        IpAddr::V4(address) => return push_octets(text, address),
        IpAddr::V6(whole) if ipv6_prefix < 128 => {
            let network = Ipv6Addr::from_bits(whole.to_bits() & mask(ipv6_prefix));
            write!(text, "{network}/{ipv6_prefix}")
        }
        IpAddr::V6(whole) => write!(text, "{whole}"),
    };
}

/// Its `Display`, by a tenth of the instructions: nearly every request writes one.
fn push_octets(text: &mut String, address: Ipv4Addr) {
    for (place, octet) in address.octets().into_iter().enumerate() {
        if place > 0 {
            text.push('.');
        }
        for divisor in [100, 10, 1] {
            if octet >= divisor || divisor == 1 {
                text.push(char::from(b'0' + octet / divisor % 10));
            }
        }
    }
}

/// The first bits of an address of 128.
fn mask(prefix: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0)
}

/// The addresses that share a prefix. IPv4 is kept as the IPv6 that it is mapped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    first: u128,
    prefix: u8,
}

/// The bits in front of an IPv4 address that is mapped into IPv6.
const MAPPED: u8 = 96;

impl Network {
    /// `10.0.0.0/8`, `2001:db8::/32`, or one address.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            None => (text, None),
            Some((address, length)) => (address, Some(length)),
        };
        let address: IpAddr = address.parse().ok()?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let length: u8 = match length {
            None => longest,
            Some(length) if length.bytes().all(|byte| byte.is_ascii_digit()) => length.parse().ok()?,
            Some(_) => return None,
        };
        let prefix = if address.is_ipv4() { length.checked_add(MAPPED)? } else { length };
        (length <= longest).then(|| Self { first: bits(address) & mask(prefix), prefix })
    }

    pub(crate) fn contains(self, address: IpAddr) -> bool {
        bits(address) & mask(self.prefix) == self.first
    }

    /// All addresses of IPv4, or of IPv6.
    pub(crate) fn is_everything(self) -> bool {
        self.prefix == 0 || self.prefix == MAPPED && self.first == bits(IpAddr::from([0, 0, 0, 0]))
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_without_ports_and_zones() {
        for (text, want) in [
            ("203.0.113.9", Some("203.0.113.9")),
            (" 203.0.113.9:65535\t", Some("203.0.113.9")),
            ("203.0.113.9:_http", Some("203.0.113.9")),
            ("2001:DB8::1", Some("2001:db8::1")),
            ("[2001:db8::1]", Some("2001:db8::1")),
            ("\"[2001:db8::1]:4711\"", Some("2001:db8::1")),
            ("fe80::1%eth0", Some("fe80::1")),
            ("[fe80::1%25eth0]:80", Some("fe80::1")),
            ("::ffff:203.0.113.9", Some("203.0.113.9")),
            ("[::ffff:203.0.113.9]:80", Some("203.0.113.9")),
            ("", None),
            ("unknown", None),
            ("_hidden", None),
            ("203.0.113.09", None),
            ("203.0.113", None),
            ("203.0.113.9:", None),
            ("203.0.113.9:123456", None),
            ("203.0.113.9, 10.0.0.1", None),
            ("[203.0.113.9]", None),
            ("[2001:db8::1", None),
            ("[2001:db8::1]x", None),
            ("2001:db8::1%", None),
            ("\"203.0.113.9", None),
            ("/run/app.sock", None),
            ("localhost", None),
        ] {
            assert_eq!(address(text.as_bytes()), want.map(|want| want.parse().expect("an address")), "{text}");
        }
        assert_eq!(address(&[0xff, 0xfe]), None);
        assert_eq!(address(format!("fe80::1%{}", "z".repeat(200)).as_bytes()), None);
    }

    #[test]
    fn clients_by_network() {
        let of = |text: &str, prefix| {
            let mut network = String::new();
            push_network(&mut network, address(text.as_bytes()).expect("an address"), prefix);
            network
        };
        for octet in 0..=u8::MAX {
            let address = Ipv4Addr::new(203, 0, octet, 9).to_string();
            assert_eq!(of(&address, 64), address);
        }
        assert_eq!(of("2001:db8:1:2:3:4:5:6", 64), "2001:db8:1:2::/64");
        assert_eq!(of("2001:db8:1:2:3:4:5:6", 56), "2001:db8:1::/56");
        assert_eq!(of("2001:db8:1:2:3:4:5:6", 128), "2001:db8:1:2:3:4:5:6");
        assert_eq!(of("2001:db8:1:2:3:4:5:6", 1), "::/1");
    }

    #[test]
    fn networks() {
        let holds = |network: &str, text: &str| {
            let network = Network::parse(network).expect("a network");
            network.contains(address(text.as_bytes()).expect("an address"))
        };
        assert!(holds("10.0.0.0/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("10.1.2.3/8", "10.9.9.9"), "the bits behind the prefix do not count");
        assert!(holds("192.0.2.1", "::ffff:192.0.2.1") && !holds("192.0.2.1", "192.0.2.2"));
        assert!(holds("::ffff:10.0.0.0/104", "10.1.2.3"));
        assert!(holds("2001:db8::/32", "2001:db8:ffff::1") && !holds("2001:db8::/32", "2001:db9::"));
        assert!(!holds("10.0.0.0/8", "a00::"), "IPv6 that begins with the same byte");
        for everything in ["0.0.0.0/0", "::/0", "1.2.3.4/0", "::ffff:0:0/96"] {
            assert!(Network::parse(everything).expect("a network").is_everything(), "{everything}");
        }
        assert!(!Network::parse("0.0.0.0/1").expect("a network").is_everything());
        for wrong in ["", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "localhost", "10.0.0.0/+8"] {
            assert_eq!(Network::parse(wrong), None, "{wrong}");
        }
    }
}
