//! The identity of a limiter's entries, and the definitions that have them.

use std::sync::Arc;

use super::Limiter;
use crate::fingerprint::EntriesId;
#[cfg(feature = "tower")]
use crate::limit::Limit;

impl Limiter {
    /// The identity of its entries, which clones share, and no limiter of another store or namespace.
    #[must_use]
    pub fn entries_id(&self) -> EntriesId {
        EntriesId { store: Arc::as_ptr(&self.common).addr(), namespace: self.store.namespace() }
    }

    /// Notes a definition; it and an earlier one with the same key that is another one, in words.
    #[cfg(feature = "tower")]
    pub(crate) fn define(&self, limit: &Limit) -> Option<String> {
        self.common.define(self.store.namespace(), limit)
    }
}
