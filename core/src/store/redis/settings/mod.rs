//! A store on Redis, as it is asked for.

pub(super) mod address;
pub(super) mod endpoint;
mod options;
pub(super) mod url;

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use self::address::Address;
use self::url::StoreUrl;
use crate::error::LimitError;
use crate::events::Event;
use crate::store::redis::protocol::layout::{Layout, Strategy};
use crate::store::redis::protocol::script::SHA;
use crate::store::remote::{self, OnError};

/// A shared store on Redis, Valkey or a Redis Cluster.
///
/// One decision is one round trip, at the server's clock. A limiter over it begins to connect when it is made, in the
/// background, so a program starts whether its server is up or not. A call waits for at most the
/// [`timeout`](RedisBuilder::timeout), plus the time that the machine takes to wake it. If the store does not decide in
/// time, the policy [`on_error`](RedisBuilder::on_error) answers.
///
/// ```no_run
/// use std::time::Duration;
/// use tidegate::{Limit, Limiter, Redis};
/// use tidegate::remote::OnError;
///
/// let store = Redis::builder("redis://localhost:6379/0").timeout(Duration::from_millis(50)).on_error(OnError::Allow);
/// let limiter = Limiter::new(store.build()?);
/// let login = Limit::bucket("login", 10).build()?;
/// let info = limiter.limit_sync(&login, "203.0.113.9")?;
/// # Ok::<(), tidegate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Redis {
    shared: remote::Settings,
    own: Settings,
}

/// A store on Redis in the making; [`build`](Self::build) checks it.
#[derive(Clone)]
pub struct RedisBuilder {
    url: Result<StoreUrl, LimitError>,
    shared: remote::Settings,
    wait_replicas: u32,
    strategy: Strategy,
    layout: Layout,
}

/// The settings that no other remote store has.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) url: StoreUrl,
    pub(crate) address: Address,
    pub(crate) wait_replicas: u32,
    pub(crate) strategy: Strategy,
    layout: Layout,
}

const TWO_KEYS: &str = "a cluster, where the two keys of an entry need not share a slot";

impl Redis {
    /// A store at this URL:
    ///
    /// - `redis://[user:password@]host[:port][/database]`, or `rediss://` with TLS
    /// - `unix:///path/to/socket[?db=1]`; not on Windows
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
        Self::builder(url).build()
    }

    /// A store at this URL, as [`open`](Self::open) takes it, with other settings.
    #[must_use]
    pub fn builder(url: &str) -> RedisBuilder {
        RedisBuilder {
            url: StoreUrl::parse(url),
            shared: remote::Settings::default(),
            wait_replicas: 0,
            strategy: Strategy::default(),
            layout: Layout::default(),
        }
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

impl RedisBuilder {
    /// Checks the settings.
    ///
    /// # Errors
    /// As [`Redis::open`]; when certificates cannot be read, or the URL does not ask for TLS; and for
    /// [`Strategy::Transactions`] or [`Layout::Sharkey`] on a cluster, where the two keys of an entry need not be on one
    /// server.
    pub fn build(self) -> Result<Redis, LimitError> {
        let Self { url, shared, wait_replicas, strategy, layout } = self;
        let url = url?;
        let address = Address::of(&url)?;
        if address.is_cluster() && strategy == Strategy::Transactions {
            return Err(LimitError::range("", "strategy", format!("must be script on {TWO_KEYS}"), "transactions"));
        }
        if address.is_cluster() && layout == Layout::Sharkey {
            return Err(LimitError::range("", "layout", format!("must be own on {TWO_KEYS}"), "sharkey"));
        }
        // Here, not in a background thread at the first call, where a fork could meet it half done.
        LazyLock::force(&SHA);
        Ok(Redis { shared, own: Settings { url, address, wait_replicas, strategy, layout } })
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
        self.wait_replicas = replicas;
        self
    }

    /// Sets the prefix of the names of all keys; `tidegate` unless set, and nothing in [`Layout::Sharkey`].
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.shared = self.shared.namespace(namespace);
        self
    }

    /// Sets the way in which the server decides; by a script unless set.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Sets the layout of the entries; one key each unless set. With [`Strategy::Transactions`] it is always
    /// [`Layout::Sharkey`].
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Trusts these certificate authorities, in PEM form, in place of the system's.
    #[must_use]
    pub fn certificate_authority(self, pem: &[u8]) -> Self {
        self.with_url(|url| url.tls.authority = Some(pem.to_owned()))
    }

    /// Authenticates with this certificate and its key, both in PEM form.
    #[must_use]
    pub fn client_certificate(self, certificate: &[u8], key: &[u8]) -> Self {
        self.with_url(|url| url.tls.identity = Some((certificate.to_owned(), key.to_owned())))
    }

    /// Accepts any certificate of the server, as `ssl_cert_reqs=none` does: anyone on the network path can then read
    /// and change everything. A warning is reported when the store is used.
    #[must_use]
    pub fn accept_any_certificate(self) -> Self {
        self.with_url(|url| url.tls.unverified = true)
    }

    /// Sets the user's name, in place of the URL's; empty for none.
    #[must_use]
    pub fn username(self, username: &str) -> Self {
        self.with_url(|url| url.login.username = Some(username.to_owned()).filter(|name| !name.is_empty()))
    }

    /// Sets the password, in place of the URL's; empty for none.
    #[must_use]
    pub fn password(self, password: &str) -> Self {
        self.with_url(|url| url.login.password = Some(password.to_owned()).filter(|password| !password.is_empty()))
    }

    /// Sets the name and the password for sentinels, which have logins of their own.
    #[must_use]
    pub fn sentinel_login(self, username: Option<&str>, password: Option<&str>) -> Self {
        self.with_url(|url| {
            let login = &mut url.sentinel_login;
            login.username = username.map(str::to_owned).or(login.username.take());
            login.password = password.map(str::to_owned).or(login.password.take());
        })
    }

    /// A URL that is malformed stays so; building says why.
    fn with_url(mut self, change: impl FnOnce(&mut StoreUrl)) -> Self {
        if let Ok(url) = &mut self.url {
            change(url);
        }
        self
    }

    /// Passes events of the store to this listener, in place of `tracing`. It is called on the thread that talks to
    /// the store, and must not block.
    #[must_use]
    pub fn listener(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.shared = self.shared.listener(listener);
        self
    }
}

impl Settings {
    /// The server may show any certificate.
    pub(crate) fn is_unverified(&self) -> bool {
        self.url.tls.unverified
    }

    pub(crate) fn layout(&self) -> Layout {
        match self.strategy {
            Strategy::Script => self.layout,
            Strategy::Transactions => Layout::Sharkey,
        }
    }
}

/// Without the URL's password.
impl fmt::Debug for RedisBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RedisBuilder");
        match &self.url {
            Ok(url) => shown.field("url", &format_args!("{url}")),
            Err(error) => shown.field("url", error),
        };
        shown.field("strategy", &self.strategy).field("layout", &self.layout).finish_non_exhaustive()
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
