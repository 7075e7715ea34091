//! The state of one entry between decisions.

#[cfg(feature = "remote")]
use super::numbers::Stored as _;
use super::states;

macro_rules! entry {
    (; small: [$($small:ident $small_name:ident ($small_rule:ty, $copied:ty, $small_doc:literal))*]
        long: [$($long:ident $long_name:ident ($long_rule:ty, $lent:ty, $long_doc:literal))*]) => {
        /// The state of one rule for one actor.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) enum Entry {
            /// Nothing is kept: an absent entry answers like one that never was.
            #[default]
            Absent,
            $($small($copied),)*
            $($long($lent),)*
        }

        impl Entry {
            $(entry!(state $small_name $small $copied);)*
            $(entry!(state $long_name $long $lent);)*

            /// Adds the numbers that a store keeps of it.
            #[cfg(feature = "remote")]
            pub(crate) fn write(&self, numbers: &mut impl Extend<f64>) {
                match self {
                    Self::Absent => {}
                    $(Self::$small(state) => state.write(numbers),)*
                    $(Self::$long(state) => state.write(numbers),)*
                }
            }
        }

        $(
            impl Small for $copied {
                #[inline]
                fn of(entry: &Entry) -> Option<Self> {
                    if let Entry::$small(state) = entry { Some(*state) } else { None }
                }
            }

            impl IntoEntry for $copied {
                #[inline]
                fn into_entry(self) -> Entry {
                    Entry::$small(self)
                }

                #[inline]
                fn write_over(self, old: &mut Entry) {
                    match old {
                        Entry::$small(old) => *old = self,
                        old => *old = Entry::$small(self),
                    }
                }
            }
        )*
    };
    // The kind is part of an entry's name, so it is that or absent.
    (state $name:ident $variant:ident $state:ty) => {
        #[inline]
        pub(crate) fn $name(&mut self, fresh: impl FnOnce() -> $state) -> &mut $state {
            if !matches!(self, Self::$variant(_)) {
                *self = Self::$variant(fresh());
            }
            match self {
                Self::$variant(state) => state,
                _ => unreachable!("it has just been made this variant"),
            }
        }
    };
}

states!(entry!());

/// A state of a few numbers, which is copied where a longer one is lent.
pub(crate) trait Small: Copy + IntoEntry {
    /// The state in an entry of this kind.
    fn of(entry: &Entry) -> Option<Self>;
}

/// An entry that a table keeps, or a state that becomes one in its place there: to move one can be felt.
pub(crate) trait IntoEntry: Sized {
    fn into_entry(self) -> Entry;

    /// Takes the place of an entry; a state of a few numbers is written over one of its kind.
    #[inline]
    fn write_over(self, old: &mut Entry) {
        *old = self.into_entry();
    }
}

impl IntoEntry for Entry {
    #[inline]
    fn into_entry(self) -> Entry {
        self
    }
}
