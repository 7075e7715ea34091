//! A gate with settings of its own.

use std::sync::atomic::Ordering;

use super::gate::{Body, Gate, bit};
use super::mistakes::Mistake;
use super::proxies::TrustedProxies;
use crate::error::LimitError;
use crate::headers::Style;

/// A [`Gate`] in the making; [`build`](Self::build) checks it.
///
/// ```
/// use tidegate::headers::{Draft, Style};
/// use tidegate::http::{Gate, TrustedProxies};
///
/// let proxies = TrustedProxies::networks(["10.0.0.0/8"])?;
/// let gate = Gate::builder().trusted_proxies(proxies).style(Style::Ietf(Draft::V11)).status(503).build()?;
/// assert_eq!(gate.header_name(), "x-forwarded-for");
///
/// let error = Gate::builder().ipv6_prefix(0).build().unwrap_err();
/// assert_eq!(error.to_string(), "ipv6Prefix must be a whole number from 1 to 128, got 0");
/// # Ok::<(), tidegate::LimitError>(())
/// ```
#[derive(Debug, Default)]
pub struct GateBuilder(Gate);

impl Gate {
    /// A gate with other settings.
    #[must_use]
    pub fn builder() -> GateBuilder {
        GateBuilder::default()
    }
}

impl GateBuilder {
    /// Sets the proxies whose header is believed; none unless set.
    #[must_use]
    pub fn trusted_proxies(mut self, proxies: TrustedProxies) -> Self {
        self.0.proxies = proxies;
        self
    }

    /// Sets the header that the trusted proxies write; `X-Forwarded-For` unless set. `Forwarded` has the form of RFC 7239,
    /// any other is a list of addresses, or a single one. Only this one is believed, as a client may send the others.
    #[must_use]
    pub fn forwarded_header(mut self, name: &str) -> Self {
        name.clone_into(&mut self.0.header);
        self
    }

    /// Sets the bits of an IPv6 address that make one client, from 1 to 128; 64 unless set, because one host has a
    /// network of that size.
    #[must_use]
    pub fn ipv6_prefix(mut self, prefix: u8) -> Self {
        self.0.ipv6_prefix = prefix;
        self
    }

    /// Sets the headers of responses.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        self.0.style = style;
        self
    }

    /// Sets the status of a refusal, from 400 to 599; 429 unless set.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.0.status = status;
        self
    }

    /// Sets the body of a refusal.
    #[must_use]
    pub fn body(mut self, body: Body) -> Self {
        self.0.body = body;
        self
    }

    /// Sets a name of the limiter, for which each mistake is reported once.
    #[must_use]
    pub fn scope(mut self, scope: &str) -> Self {
        scope.clone_into(&mut self.0.scope);
        self
    }

    /// Never reports this mistake.
    #[must_use]
    pub fn silence(self, mistake: Mistake) -> Self {
        self.0.quiet.fetch_or(bit(mistake), Ordering::Relaxed);
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// For a header that no request can have, and for a prefix or a status out of bounds.
    pub fn build(self) -> Result<Gate, LimitError> {
        let Self(mut gate) = self;
        if !is_name(&gate.header) {
            let given = format_args!("{:?}", gate.header);
            return Err(LimitError::range("", "forwardedHeader", "must be the name of a header", given));
        }
        if !(1..=128).contains(&gate.ipv6_prefix) {
            let problem = "must be a whole number from 1 to 128";
            return Err(LimitError::range("", "ipv6Prefix", problem, gate.ipv6_prefix));
        }
        if !(400..=599).contains(&gate.status) {
            return Err(LimitError::range("", "status", "must be a whole number from 400 to 599", gate.status));
        }
        gate.header.make_ascii_lowercase();
        Ok(gate)
    }
}

/// The name of a header, of a length that servers take.
fn is_name(text: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.len() <= 100 && text.bytes().all(is_name)
}
