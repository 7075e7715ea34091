//! A store on Redis, as it is asked for.

use std::fmt;
use std::time::Duration;

use super::address::Address;
use super::layout::{Layout, Strategy};
use super::url::StoreUrl;
use crate::error::LimitError;
use crate::events::Event;
use crate::store::remote::{self, OnError};

/// A shared store on Redis, Valkey or a Redis Cluster.
///
/// One decision is one round trip, at the server's clock. A limiter over it begins to connect when it is made, in the
/// background, so a program starts whether its server is up or not. A call waits for at most the
/// [`timeout`](Self::timeout), plus the time that the machine takes to wake it. If the store does not decide in time, the policy [`on_error`](Self::on_error) answers.
///
/// ```no_run
/// use std::time::Duration;
/// use tidegate::{Limit, Limiter, Redis};
/// use tidegate::remote::OnError;
///
/// let store = Redis::open("redis://localhost:6379/0")?.timeout(Duration::from_millis(50)).on_error(OnError::Allow);
/// let limiter = Limiter::new(store);
/// let login = Limit::bucket("login", 10).build()?;
/// let info = limiter.limit_sync(&login, "203.0.113.9")?;
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Redis {
    shared: remote::Settings,
    own: Settings,
}

/// The settings that no other remote store has.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(super) url: StoreUrl,
    pub(super) address: Address,
    pub(super) wait_replicas: u32,
    pub(super) strategy: Strategy,
    layout: Layout,
}

const TWO_KEYS: &str = "a cluster, where the two keys of an entry need not share a slot";

impl Redis {
    /// A store at this URL:
    ///
    /// - `redis://[user:password@]host[:port][/database]`, or `rediss://` with TLS
    /// - `unix:///path/to/socket[?db=1]`
    /// - `redis+sentinel://[user:password@]sentinel[:port],…/service[/database]`
    /// - `redis+cluster://[user:password@]node[:port],…`
    ///
    /// The last two use TLS with `rediss+`. Percent-encode special characters in a user's name or a password. Options
    /// follow after a question mark, with the names of redis-py: `ssl_ca_certs=FILE`,
    /// `ssl_certfile`, `ssl_keyfile`, `ssl_cert_reqs=none`, `db`, `protocol`, `username`, `password`, and
    /// `sentinel_username` and `sentinel_password` for sentinels, which have logins of their own.
    ///
    /// # Errors
    /// When the URL is malformed, or a file that it names cannot be read. The error shows only the scheme of a
    /// malformed URL, because the rest may contain a password.
    pub fn open(url: &str) -> Result<Self, LimitError> {
        let url = StoreUrl::parse(url)?;
        let address = Address::of(&url)?;
        let (strategy, layout) = Default::default();
        Ok(Self {
            shared: remote::Settings::default(),
            own: Settings { url, address, wait_replicas: 0, strategy, layout },
        })
    }

    /// Sets the timeout of a decision, connecting included; 100 ms unless set.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.shared = self.shared.timeout(timeout);
        self
    }

    /// Sets the policy for calls that the store cannot decide.
    #[must_use]
    pub fn on_error(mut self, policy: OnError) -> Self {
        self.shared = self.shared.on_error(policy);
        self
    }

    /// Sets the longest time for which this process repeats a denial without a call to Redis; 1 s unless set, and never
    /// longer than until the call would be admitted. Zero turns it off.
    #[must_use]
    pub fn deny_cache(mut self, max_age: Duration) -> Self {
        self.shared = self.shared.deny_cache(max_age);
        self
    }

    /// Sets the largest number of entries that this process keeps while the store cannot decide; 1,000,000 unless set.
    #[must_use]
    pub fn max_entries(mut self, entries: usize) -> Self {
        self.shared = self.shared.max_entries(entries);
        self
    }

    /// Sets the number of replicas that must have a charge before its call is answered; 0 unless set, which waits for
    /// none.
    ///
    /// Redis's `WAIT` is sent behind the decisions of a batch, in the same round trip. A decision takes longer by the
    /// time in which that many replicas acknowledge it. Denials and peeks change nothing, and do not wait. If too few
    /// acknowledge within the [`timeout`](Self::timeout), the charge stays on the primary, and
    /// [`on_error`](Self::on_error) answers the call, with the failure
    /// [`Unreplicated`](crate::remote::Failure::Unreplicated).
    ///
    /// A failover to a replica that has acknowledged loses no answered charge. Redis does not become strongly
    /// consistent: a failover to another replica may lose as much as without this setting. The server's user must be
    /// allowed `+wait`.
    #[must_use]
    pub fn wait_replicas(mut self, replicas: u32) -> Self {
        self.own.wait_replicas = replicas;
        self
    }

    /// Sets the prefix of the names of all keys; `tidegate` unless set, and nothing in [`Layout::Sharkey`].
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.shared = self.shared.namespace(namespace);
        self
    }

    /// Sets the way in which the server decides; by a script unless set.
    ///
    /// # Errors
    /// For [`Strategy::Transactions`] on a cluster, which does not support it.
    pub fn strategy(mut self, strategy: Strategy) -> Result<Self, LimitError> {
        if strategy == Strategy::Transactions && self.own.address.is_cluster() {
            return Err(LimitError::range("", "strategy", format!("must be script on {TWO_KEYS}"), "transactions"));
        }
        self.own.strategy = strategy;
        Ok(self)
    }

    /// Sets the layout of the entries; one key each unless set. With [`Strategy::Transactions`] it is always
    /// [`Layout::Sharkey`].
    ///
    /// # Errors
    /// For [`Layout::Sharkey`] on a cluster, where its two keys need not be on one server.
    pub fn layout(mut self, layout: Layout) -> Result<Self, LimitError> {
        if layout == Layout::Sharkey && self.own.address.is_cluster() {
            return Err(LimitError::range("", "layout", format!("must be own on {TWO_KEYS}"), "sharkey"));
        }
        self.own.layout = layout;
        Ok(self)
    }

    /// Trusts these certificate authorities, in PEM form, in place of the system's.
    ///
    /// # Errors
    /// When they cannot be read, or the URL does not ask for TLS.
    pub fn certificate_authority(mut self, pem: &[u8]) -> Result<Self, LimitError> {
        self.own.url.tls.authority = Some(pem.to_owned());
        self.reread()
    }

    /// Authenticates with this certificate and its key, both in PEM form.
    ///
    /// # Errors
    /// When they cannot be read, or the URL does not ask for TLS.
    pub fn client_certificate(mut self, certificate: &[u8], key: &[u8]) -> Result<Self, LimitError> {
        self.own.url.tls.identity = Some((certificate.to_owned(), key.to_owned()));
        self.reread()
    }

    /// Accepts any certificate of the server, as `ssl_cert_reqs=none` does: anyone on the network path can then read
    /// and change everything. A warning is reported when the store is used.
    ///
    /// # Errors
    /// When the URL does not ask for TLS.
    pub fn accept_any_certificate(mut self) -> Result<Self, LimitError> {
        self.own.url.tls.unverified = true;
        self.reread()
    }

    /// The user's name, in place of the URL's; empty for none.
    ///
    /// # Errors
    /// None that opening it would not have had.
    pub fn username(mut self, username: &str) -> Result<Self, LimitError> {
        self.own.url.login.username = Some(username.to_owned()).filter(|name| !name.is_empty());
        self.reread()
    }

    /// The password, in place of the URL's; empty for none.
    ///
    /// # Errors
    /// None that opening it would not have had.
    pub fn password(mut self, password: &str) -> Result<Self, LimitError> {
        self.own.url.login.password = Some(password.to_owned()).filter(|password| !password.is_empty());
        self.reread()
    }

    /// The name and the password that sentinels are asked with, which is not the primary's.
    ///
    /// # Errors
    /// None that opening it would not have had.
    pub fn sentinel_login(mut self, username: Option<&str>, password: Option<&str>) -> Result<Self, LimitError> {
        let login = &mut self.own.url.sentinel_login;
        login.username = username.map(str::to_owned).or(login.username.take());
        login.password = password.map(str::to_owned).or(login.password.take());
        self.reread()
    }

    fn reread(mut self) -> Result<Self, LimitError> {
        self.own.address = Address::of(&self.own.url)?;
        Ok(self)
    }

    /// Passes events of the store to this listener, in place of `tracing`. It is called on the thread that talks to
    /// the store, and must not block.
    #[must_use]
    pub fn listener(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.shared = self.shared.listener(listener);
        self
    }

    pub(crate) fn has_secret(&self) -> bool {
        let logins = [&self.own.url.login, &self.own.url.sentinel_login];
        logins.iter().any(|login| login.password.is_some())
    }

    /// The store, and the settings that every remote store has.
    pub(crate) fn into_parts(self) -> (Settings, remote::Settings) {
        let Self { mut shared, own } = self;
        shared.namespace.get_or_insert_with(|| own.layout().namespace().to_owned());
        (own, shared)
    }
}

impl Settings {
    /// The server may show any certificate.
    pub(super) fn is_unverified(&self) -> bool {
        self.url.tls.unverified
    }

    pub(super) fn layout(&self) -> Layout {
        match self.strategy {
            Strategy::Script => self.layout,
            Strategy::Transactions => Layout::Sharkey,
        }
    }
}

/// Without the URL's password.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("url", &format_args!("{}", self.url))
            .field("wait_replicas", &self.wait_replicas)
            .field("strategy", &self.strategy)
            .field("layout", &self.layout())
            .finish_non_exhaustive()
    }
}
