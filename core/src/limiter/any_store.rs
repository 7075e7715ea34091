//! The stores that a limiter can have.

use std::sync::Arc;

use super::memory::Local;
#[cfg(feature = "remote")]
use super::remote::Remote;
#[cfg(all(feature = "shm", target_os = "linux"))]
use super::shared::Shared;
use crate::fingerprint::Fingerprint;
use crate::store::memory::Memory;
#[cfg(feature = "remote")]
use crate::store::remote::{Backend, Settings};

#[derive(Clone, Debug)]
pub(super) enum Store {
    Local(Local),
    #[cfg(feature = "remote")]
    Remote(Remote),
    #[cfg(all(feature = "shm", target_os = "linux"))]
    Shared(Shared),
}

impl Store {
    pub(super) fn namespace(&self) -> Fingerprint {
        match self {
            Self::Local(local) => local.namespace,
            #[cfg(feature = "remote")]
            Self::Remote(remote) => remote.namespace,
            #[cfg(all(feature = "shm", target_os = "linux"))]
            Self::Shared(shared) => shared.namespace[0],
        }
    }
}

/// A store of entries: made of a [`Memory`], or of a [`Redis`](crate::Redis).
#[derive(Clone, Debug)]
pub struct AnyStore(pub(super) Store);

impl From<Memory> for AnyStore {
    fn from(memory: Memory) -> Self {
        let namespace = Fingerprint::of_namespace("tidegate");
        Self(Store::Local(Local { memory: Arc::new(memory), namespace }))
    }
}

#[cfg(feature = "remote")]
impl AnyStore {
    /// A store that is reached over a network.
    #[must_use]
    pub fn remote(backend: impl Backend, settings: Settings) -> Self {
        Self(Store::Remote(Remote::new(backend, settings)))
    }

    /// A store in memory that all processes of this host share which name it: `shm://name`, or `shm:///path/of/a/file`,
    /// both with `?entries=…` for the most entries. The first process makes it, for its user alone.
    ///
    /// ```
    /// use tidegate::remote::backend::Settings;
    /// use tidegate::{AnyStore, Limit, Limiter};
    ///
    /// # let url = format!("shm://doctest-{}?entries=1000", std::process::id());
    /// let limiter = Limiter::new(AnyStore::shm(&url, Settings::default())?);
    /// let login = Limit::bucket("login", 1).build()?;
    /// assert!(limiter.limit_sync(&login, "ada")?.allowed());
    /// // Another handle, in this process or in any other.
    /// let other = Limiter::new(AnyStore::shm(&url, Settings::default())?);
    /// assert!(other.limit_sync(&login, "ada")?.blocked);
    /// # std::fs::remove_file(other.shared_file().expect("a file"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the URL is malformed, there is no room for the table, or the file has another one than this version makes.
    #[cfg(all(feature = "shm", target_os = "linux"))]
    pub fn shm(url: &str, settings: Settings) -> Result<Self, crate::LimitError> {
        Shared::open(url, settings).map(|shared| Self(Store::Shared(shared)))
    }
}
