//! One entry in 32 bytes, of which two share a cache line.
use super::moment::{Moment, Timeline};
use crate::algorithm::{Drains, Level};
use crate::fingerprint::Fingerprint;
use crate::log_duration::LogDuration;
use crate::time::Micros;

/// Half of the clock's range that fits beside ten bits of something else.
const NUMBER_BITS: u32 = FLAG.trailing_zeros() - LogDuration::BITS;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;
const FLAG: u64 = 1 << 63;

/// The bytes of a cache line.
pub(super) const CACHE_LINE: usize = 64;

/// An entry from a caller's clock lives at least this long after the last call with such a clock.
pub(in crate::store) const GIVEN_LIVES: Micros = 3_600 * 1_000_000;

/// The drain of an entry: its start and its duration, in the places of a slot's two numbers.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Drain {
    /// The drain time as a [`LogDuration`], above the bits of a number.
    time: u64,
    /// A level's instant, or else when the entry was written; then whether the timeline is given.
    since: u64,
}

impl Drain {
    #[inline]
    pub(in crate::store) fn new(drains: Drains, timeline: Timeline) -> Self {
        let Drains { since, time } = drains;
        let given = if timeline == Timeline::Given { FLAG } else { 0 };
        Self { time: time.to_bits() << NUMBER_BITS, since: since & NUMBER | given }
    }

    /// Both in one word.
    #[inline]
    #[cfg(all(feature = "shm", target_os = "linux"))]
    pub(in crate::store) fn to_word(self) -> u64 {
        self.time | self.since
    }

    #[inline]
    #[cfg(all(feature = "shm", target_os = "linux"))]
    pub(in crate::store) fn of_word(word: u64) -> Self {
        let since = word & (NUMBER | FLAG);
        Self { time: word & !since, since }
    }

    pub(in crate::store) fn timeline(self) -> Timeline {
        if self.since & FLAG == 0 { Timeline::Real } else { Timeline::Given }
    }

    /// The time that the entry takes to drain from its `since`, rounded up by at most an eighth.
    pub(in crate::store) fn time(self) -> Micros {
        LogDuration::from_bits(self.time >> NUMBER_BITS).duration()
    }

    /// The instant at which the entry is empty, rounded up.
    pub(in crate::store) fn empty_at(self) -> Micros {
        (self.since & NUMBER).saturating_add(self.time())
    }

    /// True if the entry is empty at this moment; that of another clock says nothing about it.
    #[inline]
    pub(in crate::store) fn is_empty(self, moment: Moment) -> bool {
        self.timeline() == moment.timeline && self.empty_at() <= moment.now
    }

    /// True if the entry may be dropped: by our clock once it is empty, by a caller's when no call has given one for as
    /// long as the entry takes to drain.
    #[inline]
    pub(in crate::store) fn is_disposable(self, now: Micros, given_at: Micros) -> bool {
        match self.timeline() {
            Timeline::Real => self.empty_at() <= now,
            Timeline::Given => given_at.saturating_add(self.time().max(GIVEN_LIVES)) <= now,
        }
    }
}

/// A fingerprint, and an entry's two numbers with what the table has to know tucked into the bits that numbers below
/// 2^53 leave free.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Slot {
    pub(super) fingerprint: u128,
    /// A level less one, or another entry's place at the side, in the low 53 bits; then [`Drain::time`]; then
    /// whether the entry is at the side.
    level: u64,
    /// [`Drain::since`].
    since: u64,
}

/// The place of an entry's state.
pub(super) enum Kept {
    /// In the slot itself.
    Here(Level),
    /// At the side, for what does not fit into two numbers below 2^53.
    Aside(usize),
}

impl Slot {
    /// Larger than every fingerprint, so that a search for one stops here; and it never drains, so that a sweep need not
    /// ask what it is.
    pub(super) const VACANT: Self = Self { fingerprint: u128::MAX, level: !(NUMBER | FLAG), since: 0 };

    #[expect(clippy::inline_always, reason = "most of it is known where it is called")]
    #[inline(always)]
    pub(super) fn new(fingerprint: Fingerprint, kept: &Kept, drain: Drain) -> Self {
        let mut slot = Self { fingerprint: fingerprint.0, level: 0, since: 0 };
        slot.keep(kept, drain);
        slot
    }

    /// Keeps this instead of what it kept.
    #[expect(clippy::inline_always, reason = "most of it is known where it is called")]
    #[inline(always)]
    pub(super) fn keep(&mut self, kept: &Kept, drain: Drain) {
        let (number, aside) = match kept {
            Kept::Here(level) => (level.level - 1, 0),
            Kept::Aside(place) => (*place as u64, FLAG),
        };
        self.level = number & NUMBER | drain.time | aside;
        self.since = drain.since;
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "a place at the side was an index before")]
    pub(super) fn kept(&self) -> Kept {
        let number = self.level & NUMBER;
        if self.level & FLAG == 0 {
            Kept::Here(Level { level: number + 1, since: self.since & NUMBER })
        } else {
            Kept::Aside(number as usize)
        }
    }

    #[inline]
    pub(super) fn is_vacant(&self) -> bool {
        self.fingerprint == u128::MAX
    }

    pub(super) fn drain(&self) -> Drain {
        Drain { time: self.level, since: self.since }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However far ahead a clock is, also where its instants no longer fit into a slot.
    #[test]
    fn what_is_vacant_never_drains() {
        for now in [0, NUMBER, 1 << 53, 1 << 60, 1 << 63] {
            assert!(!Slot::VACANT.drain().is_disposable(now, 0), "{now}");
        }
    }
}
