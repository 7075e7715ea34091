//! The state of one actor at a limit.

use crate::algorithm::Entry;
use crate::inline_vec::InlineVec;
use crate::limit::EntryKind;

/// The state of one actor at a limit; starts empty with [`State::default`].
///
/// Opaque: keep it, and hand it to the next [`Limit::decide`](crate::Limit::decide) of the same limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub(crate) entries: InlineVec<(EntryKind, Entry)>,
}

impl State {
    /// The entry of this kind; definitions of different shapes do not see each other's.
    pub(super) fn take(&mut self, kind: EntryKind) -> Entry {
        let index = self.entries.iter().position(|(known, _)| *known == kind);
        index.map_or(Entry::Absent, |index| self.entries.swap_remove(index).1)
    }

    pub(super) fn keep(&mut self, kind: EntryKind, entry: Entry) {
        if entry != Entry::Absent {
            self.entries.push((kind, entry));
        }
    }
}
