//! The things that all limiters over one store share, beside the store.

#[cfg(feature = "tower")]
use std::collections::HashMap;
#[cfg(feature = "tower")]
use std::sync::{Mutex, PoisonError};

use super::queue::WaitQueue;
#[cfg(feature = "tower")]
use crate::{fingerprint::Fingerprint, http::Names, limit::Limit};

#[derive(Debug, Default)]
pub(super) struct Common {
    /// The calls that wait for limits that do not reserve.
    pub(super) queue: WaitQueue,
    /// The definitions that layers of tower have, by their namespaces.
    #[cfg(feature = "tower")]
    definitions: Mutex<HashMap<Fingerprint, Names>>,
}

#[cfg(feature = "tower")]
impl Common {
    /// Notes a definition; it and an earlier one with the same key that is another one, in words.
    pub(super) fn define(&self, namespace: Fingerprint, limit: &Limit) -> Option<String> {
        let mut each = self.definitions.lock().unwrap_or_else(PoisonError::into_inner);
        each.entry(namespace).or_default().define(limit)
    }
}
