//! The state of one actor at a limit.

use crate::algorithm::{Entry, Shape};
use crate::inline_vec::InlineVec;

/// The state of one actor at a limit; starts empty with [`State::default`].
///
/// Opaque: keep it, and hand it to the next [`Limit::decide`](crate::Limit::decide) of the same limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub(crate) entries: InlineVec<(Shape, Entry)>,
}

impl State {
    /// The entry of this shape; definitions of different shapes do not see each other's.
    pub(super) fn take(&mut self, shape: Shape) -> Entry {
        let index = self.entries.iter().position(|(known, _)| *known == shape);
        index.map_or(Entry::Absent, |index| self.entries.swap_remove(index).1)
    }

    pub(super) fn keep(&mut self, shape: Shape, entry: Entry) {
        if entry != Entry::Absent {
            self.entries.push((shape, entry));
        }
    }
}
