//! What is kept of one entry between decisions.

use super::cell::Level;
use super::counter::Windows;
use super::decay::Decayed;
use super::series::Series;
use super::smooth::Paced;

/// The state of one rule for one actor.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Entry {
    /// Nothing is kept: an absent entry answers like one that never was.
    #[default]
    Absent,
    Cell(Level),
    Counter(Windows),
    Decay(Decayed),
    Smooth(Paced),
    Slots(Box<Series>),
    Log(Box<Series>),
}

/// A way to the state of one kind of room; what another kind left there, under another definition of the same key,
/// counts as absent.
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
    /// What is small is written in place, where nothing else has to be dropped first.
    #[inline(always)]
    pub(crate) fn replace(&mut self, entry: Self) {
        match (self, entry) {
            (Self::Counter(old), Self::Counter(new)) => *old = new,
            (Self::Decay(old), Self::Decay(new)) => *old = new,
            (Self::Smooth(old), Self::Smooth(new)) => *old = new,
            (old, new) => *old = new,
        }
    }

    state!(cell, Cell, Level);
    state!(counter, Counter, Windows);
    state!(decay, Decay, Decayed);
    state!(smooth, Smooth, Paced);
    state!(slots, Slots, Series);
    state!(log, Log, Series);
}

/// A state of a few numbers, which is copied where a longer one is lent.
pub(crate) trait Small: Copy {
    /// The state of this kind in an entry; what another kind left there counts as absent.
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

small!(Cell Level, Counter Windows, Decay Decayed, Smooth Paced);

/// What a limit has to remember of one actor; starts empty with [`State::default`].
///
/// Opaque: keep it, and hand it to the next [`Limit::decide`](crate::Limit::decide) of the same limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub(crate) entries: [Entry; 2],
}
