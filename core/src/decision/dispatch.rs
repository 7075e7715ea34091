//! Dispatch of a rule to its algorithm.

use super::{Drains, Entry, Impossible, Room, Settled, Verb, Verdict, answer, commit, examine};
use crate::info::LimitInfo;
use crate::limit::Rule;
use crate::time::Micros;

/// The same question to whichever room a rule belongs to, about the state that the entry holds for it.
macro_rules! in_its_room {
    ($rule:expr, $entry:expr, $now:expr, |$room:ident, $state:ident| $question:expr) => {
        in_its_room!($rule, $entry, $now, $room, $state, $question,
            Level level, Slots slots, Counter counter, Log log, Decay decay, Smooth smooth)
    };
    ($rule:expr, $entry:expr, $now:expr, $room:ident, $state:ident, $question:expr, $($kind:ident $of:ident),*) => {
        match $rule {
            $(Rule::$kind($room) => {
                let $state = $entry.$of(|| $room.fresh($now));
                $question
            })*
        }
    };
}

impl Rule {
    /// [`examine`] in this rule's room.
    #[inline]
    pub(crate) fn examine(
        &self,
        entry: &mut Entry,
        now: Micros,
        verb: Verb,
        cost: u64,
        prior: u64,
    ) -> Result<Verdict, Impossible> {
        in_its_room!(self, entry, now, |room, state| examine(room, state, now, verb, cost, prior))
    }

    /// [`commit`] in this rule's room.
    #[inline]
    pub(crate) fn commit(&self, entry: &mut Entry, now: Micros, verb: Verb, check: Settled, spent: u64) -> bool {
        in_its_room!(self, entry, now, |room, state| commit(room, state, now, verb, check, spent))
    }

    /// [`answer`] in this rule's room.
    #[inline]
    pub(crate) fn answer(&self, entry: &mut Entry, now: Micros, verb: Verb, check: Settled) -> LimitInfo {
        in_its_room!(self, entry, now, |room, state| answer(room, state, now, verb, check))
    }

    /// The answer of an entry that a reset has just removed.
    pub(crate) fn emptied(&self, now: Micros) -> LimitInfo {
        let check = Settled::alone(Verdict { fits: true, ..Verdict::default() }, 0);
        self.answer(&mut Entry::Absent, now, Verb::Reset, check)
    }

    /// Until this cost fits, to the microsecond that an answer rounds up.
    #[cfg(feature = "redis")]
    pub(crate) fn until(&self, entry: &mut Entry, now: Micros, cost: u64) -> Micros {
        in_its_room!(self, entry, now, |room, state| room.until(state, now, cost))
    }

    /// True if a call that writes nothing gives this entry back as it was, so that a large one need not be copied
    /// first: it is this rule's own, and not from a future that cannot be.
    pub(crate) fn may_borrow(&self, entry: &Entry, now: Micros) -> bool {
        match (self, entry) {
            (Self::Slots(room), Entry::Slots(state)) => !room.is_impossible(state, now),
            (Self::Log(room), Entry::Log(state)) => !room.is_impossible(state, now),
            _ => false,
        }
    }

    /// An entry that is empty need not be kept: absent, it answers the same.
    #[inline]
    pub(crate) fn is_empty(&self, entry: &mut Entry, now: Micros) -> bool {
        *entry == Entry::Absent || in_its_room!(self, entry, now, |room, state| room.is_empty(state, now))
    }

    /// [`Room::drains`] in this rule's room.
    #[inline]
    pub(crate) fn drains(&self, entry: &mut Entry, now: Micros) -> Drains {
        in_its_room!(self, entry, now, |room, state| room.drains(state, now))
    }

    /// The units that an empty entry admits.
    pub(crate) fn quota(&self) -> u64 {
        match self {
            Self::Level(room) => room.quota(),
            Self::Slots(room) => room.quota(),
            Self::Counter(room) => room.quota(),
            Self::Log(room) => room.quota(),
            Self::Decay(room) => room.quota(),
            Self::Smooth(room) => room.quota(),
        }
    }

    /// The largest cost that ever fits.
    #[cfg(feature = "redis")]
    pub(crate) fn largest_cost(&self) -> u64 {
        match self {
            // Any cost is admitted at once there, and the next call pays for it.
            Self::Smooth(room) => room.largest_cost(),
            _ => self.quota(),
        }
    }

    /// True if a denied attempt is charged as well.
    #[cfg(feature = "redis")]
    pub(crate) fn counts_blocked(&self) -> bool {
        match self {
            Self::Slots(room) => room.counts_blocked,
            Self::Log(room) => room.counts_blocked,
            Self::Decay(room) => room.counts_blocked,
            Self::Level(_) | Self::Counter(_) | Self::Smooth(_) => false,
        }
    }

    /// A call that does not fit yet may reserve its place.
    pub(crate) fn reserves(&self) -> bool {
        fn of<R: Room>(_: &R) -> bool {
            R::RESERVES
        }
        match self {
            Self::Level(room) => of(room),
            Self::Slots(room) => of(room),
            Self::Counter(room) => of(room),
            Self::Log(room) => of(room),
            Self::Decay(room) => of(room),
            Self::Smooth(room) => of(room),
        }
    }

    /// The time that a full entry takes to drain.
    #[inline]
    pub(crate) fn window(&self) -> Micros {
        match self {
            Self::Level(room) => room.window,
            Self::Slots(room) => room.window(),
            Self::Counter(room) => room.window(),
            Self::Log(room) => room.window(),
            Self::Decay(room) => room.window(),
            Self::Smooth(room) => room.window(),
        }
    }
}
