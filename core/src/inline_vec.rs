//! Lists that are nearly always short.

use smallvec::SmallVec;

/// A list whose first few items need no allocation: a decision seldom has more checks.
pub(crate) type InlineVec<T> = SmallVec<[T; 4]>;
