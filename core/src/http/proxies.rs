//! The proxies whose word is taken for the address of a client.

use std::net::IpAddr;

use super::address::Network;
use crate::error::LimitError;

/// The name of the option, for errors.
const FIELD: &str = "trustedProxies";

/// The most proxies that there can be in a row.
const MOST_HOPS: u32 = 32;

/// The proxies in front of an application, as its operator knows them: none, a number, or their networks.
///
/// ```
/// use tidegate::http::{Gate, TrustedProxies};
///
/// let gate = Gate::builder().trusted_proxies(TrustedProxies::networks(["10.0.0.0/8"])?).build()?;
/// let client = gate.client(Some("10.0.0.1"), &["198.51.100.1, 203.0.113.9, 10.0.0.2"])?;
/// assert_eq!(client.actor, "ip:203.0.113.9");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(pub(crate) Trust);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    #[default]
    Nobody,
    /// So many, the peer included.
    Hops(u32),
    Networks {
        networks: Vec<Network>,
        /// A peer without an address: a proxy on the same machine, over a Unix socket.
        unix: bool,
    },
    /// A mistake: any client may write the header.
    Everything,
}

/// Networks by the names that are usual for them.
const NAMED: [(&str, &[&str]); 3] = [
    ("loopback", &["127.0.0.0/8", "::1"]),
    ("linklocal", &["169.254.0.0/16", "fe80::/10"]),
    ("uniquelocal", &["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]),
];

impl TrustedProxies {
    /// No proxies: the peer is the client.
    #[must_use]
    pub const fn none() -> Self {
        Self(Trust::Nobody)
    }

    /// This number of proxies between the client and the application. Each of them must append the address that it was
    /// called from, and none may be passed by.
    ///
    /// # Errors
    /// When it is above 32.
    pub fn hops(hops: u32) -> Result<Self, LimitError> {
        match hops {
            0 => Ok(Self::none()),
            1..=MOST_HOPS => Ok(Self(Trust::Hops(hops))),
            _ => Err(LimitError::range("", FIELD, format!("must be at most {MOST_HOPS}"), hops)),
        }
    }

    /// Proxies by their addresses and networks, such as `10.0.0.0/8`; `loopback`, `linklocal` and `uniquelocal` name
    /// the usual ones, `unix` is a peer without an address.
    ///
    /// # Errors
    /// When one of them is neither an address nor a network.
    pub fn networks<N: AsRef<str>>(networks: impl IntoIterator<Item = N>) -> Result<Self, LimitError> {
        let wrong = |name: &str| {
            let problem = r#"must be addresses or networks, such as "10.0.0.0/8", or a number of proxies"#;
            LimitError::range("", FIELD, problem, format_args!("{name:?}"))
        };
        let (mut known, mut unix) = (Vec::new(), false);
        for text in networks {
            for name in text.as_ref().split(',').map(str::trim) {
                if name == "unix" {
                    unix = true;
                } else if let Some((_, members)) = NAMED.iter().find(|(named, _)| *named == name) {
                    known.extend(members.iter().filter_map(|member| Network::parse(member)));
                } else {
                    known.push(Network::parse(name).ok_or_else(|| wrong(name))?);
                }
            }
        }
        if known.iter().any(|network| network.is_everything()) {
            return Ok(Self::everything());
        }
        Ok(if known.is_empty() && !unix { Self::none() } else { Self(Trust::Networks { networks: known, unix }) })
    }

    /// Every peer: a [mistake](super::Mistake::EverythingTrusted), as clients could choose their addresses then. It is
    /// taken for one proxy.
    #[must_use]
    pub const fn everything() -> Self {
        Self(Trust::Everything)
    }

    /// True if no header is believed.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0 == Trust::Nobody
    }

    /// The last address on the way back over proxies that are trusted: the first that is not.
    pub(crate) fn client(&self, peer: Option<IpAddr>, mut before: impl FnMut() -> Option<IpAddr>) -> Option<IpAddr> {
        let mut hops = match self.0 {
            Trust::Nobody => 0,
            Trust::Everything => 1,
            Trust::Hops(hops) => hops,
            Trust::Networks { .. } => u32::MAX,
        };
        let mut client = peer;
        while hops > 0 && self.trusts(client) {
            // Where the header ends, or has no address, the last proxy that is known is as far as one can see.
            let Some(address) = before() else { break };
            client = Some(address);
            hops -= 1;
        }
        client
    }

    pub(crate) fn trusts(&self, address: Option<IpAddr>) -> bool {
        match (&self.0, address) {
            (Trust::Networks { unix, .. }, None) => *unix,
            (Trust::Networks { networks, .. }, Some(address)) => {
                networks.iter().any(|network| network.contains(address))
            }
            _ => true,
        }
    }
}
