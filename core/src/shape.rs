//! Shapes of entries.

/// The shape of an entry. It is part of the entry's name, so that definitions of different shapes under one key do not see
/// each other's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Level,
    /// The level of the second rule of an exactly translated legacy limit.
    Interval,
    Slots,
    Counter,
    Log,
    Decay,
    Smooth,
}

impl Shape {
    pub(crate) const ALL: [Self; 7] =
        [Self::Level, Self::Interval, Self::Slots, Self::Counter, Self::Log, Self::Decay, Self::Smooth];
}
