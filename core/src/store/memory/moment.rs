//! The instant of a decision, and the clock that it is of.

use crate::clock;
use crate::time::Micros;

/// The clock of an entry's instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Timeline {
    /// The process's own.
    Real,
    /// The caller's, who gave `now`: it says nothing about when the entry may be dropped.
    Given,
}

/// The instant of a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Micros,
    pub(in crate::store) timeline: Timeline,
}

impl Moment {
    /// The caller's instant, or else this one of the clock of a store.
    #[inline]
    #[cfg(all(feature = "shm", target_os = "linux"))]
    pub(in crate::store) fn of(given: Option<Micros>, clock: Micros) -> Self {
        match given {
            Some(now) => Self { now, timeline: Timeline::Given },
            None => Self { now: clock, timeline: Timeline::Real },
        }
    }

    /// The caller's instant, or else the clock's.
    #[inline]
    pub(crate) fn new(given: Option<Micros>) -> Self {
        match given {
            Some(now) => Self { now, timeline: Timeline::Given },
            None => Self { now: clock::now(), timeline: Timeline::Real },
        }
    }
}
