//! The state of one entry between decisions.

use super::counter::Windows;
use super::decay::Decayed;
use super::level::Level;
use super::series::Series;
use super::smooth::Paced;
use crate::inline_vec::InlineVec;
use crate::shape::Shape;

/// The state of one rule for one actor.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Entry {
    /// Nothing is kept: an absent entry answers like one that never was.
    #[default]
    Absent,
    Level(Level),
    Counter(Windows),
    Decay(Decayed),
    Smooth(Paced),
    Slots(Box<Series>),
    Log(Box<Series>),
}

/// Access to the state of one algorithm. The kind is part of an entry's name, so it is that or absent.
macro_rules! state {
    ($name:ident, $variant:ident, $state:ty) => {
        #[inline]
        pub(crate) fn $name(&mut self, fresh: impl FnOnce() -> $state) -> &mut $state {
            if !matches!(self, Self::$variant(_)) {
                *self = Self::$variant(fresh().into());
            }
            match self {
                Self::$variant(state) => state,
                _ => unreachable!("it has just been made this variant"),
            }
        }
    };
}

impl Entry {
    /// Replaces an entry; a small one is written in place, where nothing else has to be dropped first.
    #[inline(always)]
    pub(crate) fn replace(&mut self, entry: Self) {
        match (self, entry) {
            (Self::Counter(old), Self::Counter(new)) => *old = new,
            (Self::Decay(old), Self::Decay(new)) => *old = new,
            (Self::Smooth(old), Self::Smooth(new)) => *old = new,
            (old, new) => *old = new,
        }
    }

    state!(level, Level, Level);
    state!(counter, Counter, Windows);
    state!(decay, Decay, Decayed);
    state!(smooth, Smooth, Paced);
    state!(slots, Slots, Series);
    state!(log, Log, Series);
}

/// A state of a few numbers, which is copied where a longer one is lent.
pub(crate) trait Small: Copy {
    /// The state in an entry of this kind.
    fn of(entry: &Entry) -> Option<Self>;
    fn into_entry(self) -> Entry;
}

macro_rules! small {
    ($($variant:ident $state:ty),*) => { $(
        impl Small for $state {
            #[inline]
            fn of(entry: &Entry) -> Option<Self> {
                if let Entry::$variant(state) = entry { Some(*state) } else { None }
            }

            #[inline]
            fn into_entry(self) -> Entry {
                Entry::$variant(self)
            }
        }
    )* };
}

small!(Level Level, Counter Windows, Decay Decayed, Smooth Paced);

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
