//! Settings of a store that is asked over a network, whatever it is.

use std::time::Duration;

use super::on_error::OnError;
use crate::events::{Event, Events};

/// Settings of a limiter over a remote store: its deadline, and what this process does when that is missed.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) timeout: Duration,
    pub(crate) on_error: OnError,
    pub(crate) deny_cache: Duration,
    pub(crate) max_entries: usize,
    pub(crate) namespace: Option<String>,
    pub(crate) events: Events,
}

/// The timeout of a decision unless another is given.
const TIMEOUT: Duration = Duration::from_millis(100);
/// The longest time for which a denial is remembered: another process may give back what it was denied for.
const DENY_CACHE: Duration = Duration::from_secs(1);
const MAX_ENTRIES: usize = 1_000_000;
const NAMESPACE: &str = "tidegate";

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: TIMEOUT,
            on_error: OnError::default(),
            deny_cache: DENY_CACHE,
            max_entries: MAX_ENTRIES,
            namespace: None,
            events: Events::default(),
        }
    }
}

impl Settings {
    /// Sets the timeout of a decision, connecting included; 100 ms unless set.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the policy for calls that the store cannot decide.
    #[must_use]
    pub fn on_error(mut self, policy: OnError) -> Self {
        self.on_error = policy;
        self
    }

    /// Sets the longest time for which this process remembers a denial; 1 s unless set. Zero asks the store every time.
    #[must_use]
    pub fn deny_cache(mut self, max_age: Duration) -> Self {
        self.deny_cache = max_age;
        self
    }

    /// Sets the largest number of entries that this process keeps while the store cannot decide; 1,000,000 unless set.
    #[must_use]
    pub fn max_entries(mut self, entries: usize) -> Self {
        self.max_entries = entries;
        self
    }

    /// Sets the namespace of all entries; `tidegate` unless set.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Sets the listener for events of the store, in place of `tracing`. It is called on the thread that talks to the
    /// store, and must not block.
    #[must_use]
    pub fn listener(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.events = Events::to(listener);
        self
    }

    pub(crate) fn name(&self) -> &str {
        self.namespace.as_deref().unwrap_or(NAMESPACE)
    }
}
