//! Limiters from the URL of a store and options by name.

use super::{AnyStore, Limiter, MAX_WAITERS, Store};
use crate::error::LimitError;
use crate::events::Event;
use crate::limit::Value;
use crate::store::dialect::Dialect;
use crate::store::options::Given;
use crate::store::redis::{Redis, refused};
#[cfg(all(feature = "shm", target_os = "linux"))]
use crate::store::remote::Settings;

const MEMORY: &str = "memory://";
const SHM: &str = "shm://";

impl From<Redis> for AnyStore {
    fn from(redis: Redis) -> Self {
        let (backend, settings) = redis.into_parts();
        Self::remote(backend, settings)
    }
}

impl Limiter {
    /// A limiter over a store on Redis at this URL; see [`Redis::open`](crate::Redis::open).
    ///
    /// It waits for the connection, for at most the timeout of a decision. A store that cannot be reached is no error
    /// here. Every tokio runtime that calls the limiter needs timers and I/O, as by `enable_all`: without them a call
    /// is answered as if the store could not be reached.
    ///
    /// # Errors
    /// When the URL is malformed.
    pub async fn connect(url: &str) -> Result<Self, LimitError> {
        let limiter = Self::new(Redis::open(url)?);
        if let Store::Remote(remote) = &limiter.store {
            remote.connect().await;
        }
        Ok(limiter)
    }

    /// A limiter over the store at this URL (`memory://`, `shm://name`, or what [`Redis::open`](crate::Redis::open) takes), with
    /// options by their names in the wire form, as a configuration file has them: the methods of
    /// [`RedisBuilder`](crate::redis::RedisBuilder) in camelCase (`onError`, `denyCache`, …). Times are in milliseconds. An option that is
    /// null counts as not given.
    ///
    /// ```
    /// use tidegate::Limiter;
    /// use tidegate::limits::Value;
    ///
    /// let options = [("namespace".to_owned(), Value::Text("shop".to_owned())), ("timeout".to_owned(), Value::Number(50.0))];
    /// let limiter = Limiter::open("redis://localhost:6379/0", options)?;
    /// assert!(limiter.is_shared());
    /// assert!(Limiter::open("memory://", [("timeout".to_owned(), Value::Number(0.5))]).is_err());
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// When the URL is malformed, an option does not exist or is given twice, or a value has the wrong type or is out
    /// of bounds. No password is shown.
    pub fn open(url: &str, options: impl IntoIterator<Item = (String, Value)>) -> Result<Self, LimitError> {
        Self::open_as(Dialect::Wire, url, options, None::<fn(&Event)>).map(|opened| opened.limiter)
    }

    pub(crate) fn open_as(
        dialect: Dialect,
        url: &str,
        options: impl IntoIterator<Item = (String, Value)>,
        listener: Option<impl Fn(&Event) + Send + Sync + 'static>,
    ) -> Result<Opened, LimitError> {
        crate::panics::point("open");
        let given = Given::read(dialect, options)?;
        let max_waiters = given.max_waiters().unwrap_or(MAX_WAITERS);
        if url == MEMORY {
            let memory = given.memory();
            let limiter = Self::new(match listener {
                Some(listener) => memory.listener(listener),
                None => memory,
            });
            let limiter = given.namespace().map_or(limiter.clone(), |name| limiter.namespace(name));
            return Ok(Opened { limiter: limiter.max_waiters(max_waiters), url_has_secret: false });
        }
        if url.starts_with(MEMORY) {
            return Err(refused(url, "must be memory:// and nothing more, or the URL of a server"));
        }
        if url.starts_with(SHM) {
            let limiter = Self::open_shared(url, &given, listener)?;
            return Ok(Opened { limiter: limiter.max_waiters(max_waiters), url_has_secret: false });
        }
        let url_has_secret = Redis::open(url)?.has_secret();
        let mut redis = Redis::builder(url).with(&given)?;
        if let Some(listener) = listener {
            redis = redis.listener(listener);
        }
        Ok(Opened { limiter: Self::new(redis.build()?).max_waiters(max_waiters), url_has_secret })
    }

    #[cfg(all(feature = "shm", target_os = "linux"))]
    fn open_shared(
        url: &str,
        given: &Given,
        listener: Option<impl Fn(&Event) + Send + Sync + 'static>,
    ) -> Result<Self, LimitError> {
        let mut settings = Settings::default();
        if let Some(namespace) = given.namespace() {
            settings = settings.namespace(namespace);
        }
        if let Some(timeout) = given.time("timeout") {
            settings = settings.timeout(timeout);
        }
        if let Some(policy) = given.text("onError").and_then(|name| name.parse().ok()) {
            settings = settings.on_error(policy);
        }
        if let Some(most) = given.max_entries() {
            settings = settings.max_entries(most);
        }
        if let Some(listener) = listener {
            settings = settings.listener(listener);
        }
        AnyStore::shm(url, settings).map(Self::new)
    }

    #[cfg(not(all(feature = "shm", target_os = "linux")))]
    fn open_shared(url: &str, _: &Given, _: Option<impl Fn(&Event)>) -> Result<Self, LimitError> {
        let problem = "must be the URL of a server, such as redis://localhost: memory that processes share needs Linux \
                       and the feature shm";
        Err(LimitError::range("", "url", problem, format!("{url:?}")))
    }

    /// The URL of its store, without its user and password.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.store {
            Store::Local(_) => MEMORY.to_owned(),
            Store::Remote(remote) => remote.url(),
            #[cfg(all(feature = "shm", target_os = "linux"))]
            Store::Shared(shared) => shared.url(),
        }
    }
}

/// A limiter that was made from a URL and options.
pub struct Opened {
    /// The limiter.
    pub limiter: Limiter,
    /// The URL contains a password.
    pub url_has_secret: bool,
}
