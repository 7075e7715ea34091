//! Shapes of entries.

#![cfg_attr(not(feature = "remote"), allow(unreachable_pub, reason = "remote stores are told of it"))]

/// The shape of an entry. It is part of the entry's name, so that definitions of different shapes under one key do not see
/// each other's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// A level that drains: bucket, token bucket, fixed window, and a legacy limit.
    Level,
    /// The level of the second rule of an exactly translated legacy limit.
    Interval,
    /// Counts in slots: sliding window.
    Slots,
    /// The counts of two windows: sliding counter.
    Counter,
    /// Instants with their units: sliding log.
    Log,
    /// A count that decays.
    Decay,
    /// Permits that were saved up, and the instant of the next turn.
    Smooth,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 7] =
        [Self::Level, Self::Interval, Self::Slots, Self::Counter, Self::Log, Self::Decay, Self::Smooth];

    /// The end of an entry's name.
    #[cfg(feature = "remote")]
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Level => "",
            Self::Interval => "~interval",
            Self::Slots => "~slots",
            Self::Counter => "~counter",
            Self::Log => "~log",
            Self::Decay => "~decay",
            Self::Smooth => "~smooth",
        }
    }
}
