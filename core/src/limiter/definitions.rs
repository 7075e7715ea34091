//! The definitions that layers of tower have, to find two with one key.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::fingerprint::Fingerprint;
use crate::http::Names;
use crate::limit::Limit;

/// Each namespace has its own.
#[derive(Debug, Default)]
pub(super) struct Definitions(Mutex<HashMap<Fingerprint, Names>>);

impl Definitions {
    /// Notes a definition; it and an earlier one with the same key that is another one, in words.
    pub(super) fn define(&self, namespace: Fingerprint, limit: &Limit) -> Option<String> {
        let mut each = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        each.entry(namespace).or_default().define(limit)
    }
}
