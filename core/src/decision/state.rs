//! What is kept of one entry between decisions.

use super::cell::Level;

/// The state of one rule for one actor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Nothing is kept: an absent entry answers like one that never was.
    #[default]
    Absent,
    Cell(Level),
}

impl Entry {
    /// The level of a cell; an entry of another kind, left by another definition of the same key, counts as absent.
    #[inline]
    pub(crate) fn level(&mut self) -> &mut Level {
        if !matches!(self, Self::Cell(_)) {
            *self = Self::Cell(Level::default());
        }
        match self {
            Self::Cell(level) => level,
            Self::Absent => unreachable!("it was just made a cell"),
        }
    }
}

/// What a limit has to remember of one actor; starts empty with [`State::default`].
///
/// Opaque: keep it, and hand it to the next [`Limit::decide`](crate::Limit::decide) of the same limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub(crate) entries: [Entry; 2],
}
