//! The result of a look over the keys of a store.

use super::key::Key;

/// The keys of a namespace, as far as a store was looked over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scan {
    /// The keys of the namespace. One that was written meanwhile may be there twice.
    pub keys: Vec<Key>,
    /// The number of keys that were looked at, of this namespace and of others, or nearly so.
    pub looked_at: u64,
    /// The number of keys that there are.
    pub total: u64,
}
