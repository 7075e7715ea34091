//! The parameters of a type as Rust's users read and compare them.

use std::hash::{Hash, Hasher};
use std::time::Duration;

/// A field of a definition: a number as the wire form has it, or a choice.
pub(super) trait Field {
    fn hash_into(&self, hasher: &mut impl Hasher);
}

/// A field as its getter returns it.
pub(super) trait Reads<T>: Field {
    fn read(&self) -> T;
}

/// By its bits. There is no NaN here, because a definition with one is never made, and both zeros are equal.
impl Field for f64 {
    fn hash_into(&self, hasher: &mut impl Hasher) {
        (self + 0.0).to_bits().hash(hasher);
    }
}

impl Field for Option<f64> {
    fn hash_into(&self, hasher: &mut impl Hasher) {
        self.map(|number| (number + 0.0).to_bits()).hash(hasher);
    }
}

impl Reads<f64> for f64 {
    fn read(&self) -> f64 {
        *self
    }
}

/// A count; fractions round up, as the limit rounds them.
impl Reads<u64> for f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is never negative")]
    fn read(&self) -> u64 {
        self.ceil() as u64
    }
}

/// From milliseconds, as exactly as a duration can be.
impl Reads<Duration> for f64 {
    fn read(&self) -> Duration {
        Duration::try_from_secs_f64(self / 1000.0).unwrap_or(Duration::MAX)
    }
}

impl<T> Reads<Option<T>> for Option<f64>
where
    f64: Reads<T>,
{
    fn read(&self) -> Option<T> {
        self.map(|number| number.read())
    }
}

/// One of several values, which is returned as it is.
pub(super) trait Choice: Copy + Hash {}

impl Choice for bool {}

impl<T: Choice> Field for T {
    fn hash_into(&self, hasher: &mut impl Hasher) {
        self.hash(hasher);
    }
}

impl<T: Choice> Reads<T> for T {
    fn read(&self) -> T {
        *self
    }
}

impl Field for String {
    fn hash_into(&self, hasher: &mut impl Hasher) {
        self.hash(hasher);
    }
}

/// Gives a type a getter for each of its fields, those of strings last, and `Eq` and `Hash` over all of them.
macro_rules! parameters {
    ($kind:ident {
        $($(#[$about:meta])+ $field:ident: $type:ty,)+
        $(; $($(#[$about_text:meta])+ $text:ident: &str,)+)?
    }) => {
        impl $kind {
            $($(
                $(#[$about_text])+
                #[must_use]
                pub fn $text(&self) -> &str {
                    &self.$text
                }
            )+)?
            $(
                $(#[$about])+
                #[must_use]
                pub fn $field(&self) -> $type {
                    super::parameters::Reads::read(&self.$field)
                }
            )+
        }

        impl Eq for $kind {}

        impl std::hash::Hash for $kind {
            fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
                let Self { $($field,)+ $($($text,)+)? } = self;
                $(super::parameters::Field::hash_into($field, hasher);)+
                $($(super::parameters::Field::hash_into($text, hasher);)+)?
            }
        }
    };
}

pub(super) use parameters;
