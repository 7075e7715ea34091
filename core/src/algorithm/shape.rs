//! Shapes of entries.

#![cfg_attr(not(feature = "remote"), allow(unreachable_pub, reason = "remote stores name entries by it"))]

use super::shapes;

macro_rules! shape {
    (; small: [$($small:ident $small_name:ident ($small_rule:ty, $copied:ty, $small_doc:literal))*]
        long: [$($long:ident $long_name:ident ($long_rule:ty, $lent:ty, $long_doc:literal))*]) => {
        /// The shape of an entry. It is part of the entry's name, so that definitions of different shapes under one key
        /// do not see each other's entries.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Shape {
            $(#[doc = $small_doc] $small,)*
            $(#[doc = $long_doc] $long,)*
            /// The level of the second rule of an exactly translated legacy limit.
            Interval,
        }

        impl Shape {
            /// Every shape.
            pub const ALL: [Self; [$(Self::$small,)* $(Self::$long,)* Self::Interval].len()] =
                [$(Self::$small,)* $(Self::$long,)* Self::Interval];

            /// The end of an entry's name.
            pub(crate) const fn suffix(self) -> &'static str {
                if let Self::Level = self {
                    return ""; // the shape of most limits
                }
                match self {
                    $(Self::$small => concat!("~", stringify!($small_name)),)*
                    $(Self::$long => concat!("~", stringify!($long_name)),)*
                    Self::Interval => "~interval",
                }
            }
        }
    };
}

shapes!(shape!());
