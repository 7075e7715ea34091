//! The gate: everything about HTTP that a middleware asks for, set up once.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::accept::Form;
use super::address::address;
use super::forwarded::{Grammar, Walk};
use super::mistakes::{ConfigurationError, Mistake};
use super::proxies::{Trust, TrustedProxies};
use super::refusal::Refusal;
use super::room::{RequestError, actor_of};
use crate::headers::{Header, Policy, Reset, Style, merged};

/// The body of a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Body {
    /// In the form that the client [prefers](Form::preferred).
    #[default]
    Negotiated,
    /// Always in this form.
    Always(Form),
    /// None.
    Empty,
}

/// The questions of a middleware about HTTP: who the client is, which headers a response gets, and how a request is refused.
///
/// It is made once and shared; it does no I/O, and knows no framework.
///
/// ```
/// use tidegate::headers::{Policy, Style};
/// use tidegate::http::{Gate, TrustedProxies};
/// use tidegate::{Limit, Limiter, Memory};
///
/// let gate = Gate::builder().trusted_proxies(TrustedProxies::hops(1)?).build()?;
/// let (login, limiter) = (Limit::bucket("login", 1).build()?, Limiter::new(Memory::new()));
///
/// let client = gate.client(Some("10.0.0.1:4711"), &["198.51.100.7, 203.0.113.9"])?;
/// assert_eq!(client.actor, "ip:203.0.113.9");
/// let info = limiter.limit_sync(&login, &client.actor)?;
/// let answers = [Policy::new(login.key(), &info)];
/// assert_eq!(gate.headers(&answers, 200)[0], ("X-RateLimit-Limit", "1".to_owned()));
///
/// let info = limiter.limit_sync(&login, &client.actor)?;
/// let refusal = gate.refusal(&[Policy::new(login.key(), &info)], &["application/json"], None);
/// assert_eq!((refusal.status, refusal.media_type, refusal.retry_after), (429, "application/json", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Gate {
    pub(super) proxies: TrustedProxies,
    pub(super) header: String,
    pub(super) ipv6_prefix: u8,
    pub(super) style: Style,
    pub(super) status: u16,
    pub(super) body: Body,
    pub(super) scope: String,
    /// Bits of mistakes, in their order: silenced, or reported by this gate.
    pub(super) quiet: AtomicU32,
}

/// A client, as the network knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Client {
    /// The address, or the network of an IPv6 address, as the actor of a limit: see [`client_of`](super::client_of).
    pub actor: String,
    /// A mistake to be logged, once.
    pub warning: Option<Warning>,
}

/// A mistake to be logged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The mistake.
    pub mistake: Mistake,
    /// The sentence for a log, with its code and its page.
    pub text: String,
}

const X_FORWARDED_FOR: &str = "x-forwarded-for";

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// A gate that trusts no proxy, and answers denials with 429 and the headers that clients of most servers know, those of
    /// [`Style::Common`].
    #[must_use]
    pub fn new() -> Self {
        Self {
            proxies: TrustedProxies::none(),
            header: X_FORWARDED_FOR.to_owned(),
            ipv6_prefix: 64,
            style: Style::Common(Reset::Seconds),
            status: 429,
            body: Body::default(),
            scope: String::new(),
            quiet: AtomicU32::new(0),
        }
    }

    /// The name of the header whose lines [`client`](Self::client) takes, in lower case.
    #[must_use]
    pub fn header_name(&self) -> &str {
        &self.header
    }

    /// True if no header is believed.
    #[must_use]
    pub fn trusts_nobody(&self) -> bool {
        self.proxies.is_none()
    }

    /// True if responses have headers of limits.
    #[cfg(feature = "tower")]
    pub(crate) fn shows_limits(&self) -> bool {
        self.style != Style::None
    }

    /// The client of a request, by the address of its peer and all lines of the
    /// [forwarded header](super::GateBuilder::forwarded_header) in their order.
    ///
    /// It is the last address on the way back from the peer that is not a trusted proxy. Where the header ends, or has
    /// something else than an address (`unknown`, `_hidden`, garbage), it is the last one that is known: the proxy that
    /// wrote that.
    ///
    /// # Errors
    /// When there is no address.
    pub fn client(&self, peer: Option<&str>, lines: &[impl AsRef<[u8]>]) -> Result<Client, ConfigurationError> {
        let mut walk = self.walk(lines);
        let peer = peer.and_then(|peer| address(peer.as_bytes()));
        let found = self.proxies.client(peer, || walk.next());
        let found = found.ok_or(ConfigurationError(Mistake::NoClientAddress))?;
        let warning = match self.proxies.0 {
            Trust::Nobody if !lines.is_empty() => self.untrusted(lines, peer, Mistake::ForwardedNotTrusted),
            // The walk has not left the peer, although there is more to read: it is not trusted, or nothing is readable.
            Trust::Networks { .. } if !lines.is_empty() && !self.proxies.trusts(peer) => {
                self.untrusted(lines, peer, Mistake::PeerNotTrusted)
            }
            Trust::Everything => self.report(Mistake::EverythingTrusted, ""),
            _ => None,
        };
        Ok(Client { actor: actor_of(found, self.ipv6_prefix), warning })
    }

    /// The mistake where a peer that is not trusted sends a forwarded header. One that is itself an element of it was
    /// put there by the server, as uvicorn does it for proxies on the same machine: without trusted proxies of our own
    /// that is as it should be.
    fn untrusted(&self, lines: &[impl AsRef<[u8]>], peer: Option<IpAddr>, otherwise: Mistake) -> Option<Warning> {
        const READ: Mistake = Mistake::ForwardedReadTwice;
        if self.is_quiet(otherwise) && self.is_quiet(READ) {
            return None;
        }
        let mut walk = self.walk(lines);
        let is_read = peer.is_some() && std::iter::from_fn(|| walk.next()).any(|address| Some(address) == peer);
        let peer = || peer.map_or_else(String::new, |peer| peer.to_string());
        match (is_read, otherwise) {
            (true, Mistake::ForwardedNotTrusted) => None,
            (true, _) => self.report(READ, &peer()),
            (false, Mistake::ForwardedNotTrusted) => self.report(otherwise, &self.header),
            (false, _) => self.report(otherwise, &peer()),
        }
    }

    fn walk<'a, L: AsRef<[u8]>>(&self, lines: &'a [L]) -> Walk<'a, L> {
        Walk::new(lines, if self.header == "forwarded" { Grammar::Forwarded } else { Grammar::List })
    }

    fn is_quiet(&self, mistake: Mistake) -> bool {
        self.quiet.load(Ordering::Relaxed) & bit(mistake) > 0
    }

    /// A mistake that a middleware found, as a warning to be logged; none if it was reported before, or is silenced.
    #[must_use]
    pub fn report(&self, mistake: Mistake, detail: &str) -> Option<Warning> {
        if self.is_quiet(mistake) {
            return None;
        }
        self.quiet.fetch_or(bit(mistake), Ordering::Relaxed);
        mistake.report(&self.scope, detail).map(|text| Warning { mistake, text })
    }

    /// The headers of a response with this status, for all answers that belong to it; none for a redirection, whose
    /// client would wait before it follows.
    #[must_use]
    pub fn headers(&self, answers: &[Policy<'_>], status: u16) -> Vec<Header> {
        if (300..400).contains(&status) { Vec::new() } else { merged(answers, self.style) }
    }

    /// The response to a request that is denied, by these answers and all lines of its `Accept`; `detail` stands for
    /// the sentence in the body.
    #[must_use]
    pub fn refusal(&self, answers: &[Policy<'_>], accept: &[impl AsRef<[u8]>], detail: Option<&str>) -> Refusal {
        Refusal::new(self.status, merged(answers, self.style), answers, self.form(accept), detail)
    }

    /// The response to a request that cannot be decided, by all lines of its `Accept`. It has no `Retry-After`: the same
    /// request would have the same answer at any time.
    ///
    /// ```
    /// use tidegate::http::{Gate, RequestError};
    ///
    /// let refusal = Gate::new().rejection(RequestError::TooLarge, &["text/plain"]);
    /// assert_eq!((refusal.status, refusal.retry_after), (413, 0));
    /// ```
    #[must_use]
    pub fn rejection(&self, error: RequestError, accept: &[impl AsRef<[u8]>]) -> Refusal {
        Refusal::rejection(error, self.form(accept))
    }

    fn form(&self, accept: &[impl AsRef<[u8]>]) -> Option<Form> {
        match self.body {
            Body::Negotiated => Some(Form::preferred(accept)),
            Body::Always(form) => Some(form),
            Body::Empty => None,
        }
    }
}

pub(super) fn bit(mistake: Mistake) -> u32 {
    1 << mistake as u32
}
