//! One entry as a batch of transactions sees it: its values, and the changes to make.

use super::wire::Kept;
use crate::algorithm::{Level, LevelRule};
use crate::store::remote::Key;
use crate::time::Micros;

const SECOND: Micros = 1_000_000;
/// The least time to live of entries whose callers give `now`: the server's clock is not theirs.
const HOUR: Micros = 3600 * SECOND;

/// A tick that is further ahead of the server's clock than this many full buckets take to drain is none.
const FAR: u64 = 1000;

/// An entry's two numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// The level of the bucket.
    pub(super) counter: Kept,
    /// The instant in milliseconds from which its drips count.
    pub(super) tick: Kept,
}

impl Seen {
    /// The tick, if it is one: 0 is what a drip leaves that was taken back from nothing.
    pub(super) fn tick(self) -> Option<i64> {
        self.tick.number().filter(|tick| *tick > 0)
    }
}

/// An entry, and the changes that the decisions of a batch make to it.
pub(super) struct EntryView {
    pub(super) counter: Key,
    pub(super) tick: Key,
    pub(super) seen: Seen,
    pub(super) changes: Changes,
}

/// The changes that decisions make to an entry. Everything but the instant is a difference, so that concurrent changes
/// of others are not lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    /// As the last decision has left it; nothing before the first one.
    level: Option<Level>,
    /// Everything that was there is to go first.
    pub(super) forgets: bool,
    /// Units that drip away.
    pub(super) drained: i64,
    /// Units that are charged, less those that are given back.
    pub(super) charged: i64,
    /// The tick was not there, or from a future that cannot be.
    pub(super) repairs: bool,
    /// Nothing is to be believed of the tick; see [`EntryView::look`].
    pub(super) unsettled: bool,
    lasts: Micros,
}

impl EntryView {
    pub(super) fn new([counter, tick]: [Key; 2]) -> Self {
        Self { counter, tick, seen: Seen::default(), changes: Changes::default() }
    }

    /// The entry at this instant, before time has done anything to it, and whether that is a guess.
    ///
    /// The server's clock does not go back. A tick that is ahead of it was moved by a process that dripped what others
    /// had dripped already, and is about to undo that: as many drips as it is ahead are still in the bucket. Until then
    /// its tick is not changed; set from the clock, it would be moved back too far.
    pub(super) fn look(&self, rule: &LevelRule, now: Micros, given: bool) -> (Level, bool) {
        if let Some(level) = self.changes.level {
            return (level, self.changes.unsettled);
        }
        let counter = self.seen.counter.number().unwrap_or(0);
        let level = u64::try_from(counter).unwrap_or(0);
        let Some(tick) = self.seen.tick() else {
            // A counter whose tick was lost drips from now on.
            return (Level { level, since: now }, false);
        };
        let since = tick.unsigned_abs() * 1000;
        let ahead = since.saturating_sub(now);
        if given || ahead == 0 || ahead > rule.window.saturating_mul(FAR) {
            return (Level { level, since }, false);
        }
        let drips = ahead.div_ceil(rule.tick.get());
        let inside = counter.saturating_add(signed(drips.saturating_mul(rule.drain.get())));
        let inside = u64::try_from(inside).unwrap_or(0).min(level.max(rule.quota));
        (Level { level: inside, since: since.saturating_sub(drips * rule.tick.get()) }, true)
    }

    /// The entry is full by as much as it says, but not since when.
    pub(super) fn is_untimed(&self) -> bool {
        self.changes.level.is_none() && self.seen.tick().is_none() && self.seen.counter.number() > Some(0)
    }

    pub(super) fn is_corrupt(&self) -> bool {
        [self.seen.counter, self.seen.tick].contains(&Kept::Foreign)
    }

    /// A decision has left it so: what it was, what time made of it, and what the call did.
    pub(super) fn settle(&mut self, [before, advanced, after]: [Level; 3]) {
        let changes = &mut self.changes;
        changes.drained += difference(before, advanced);
        changes.charged += difference(after, advanced);
        changes.level = Some(after);
    }

    /// Keeps it for as long as this rule needs it.
    pub(super) fn keep(&mut self, rule: &LevelRule, now: Micros, given: bool) {
        let changes = &mut self.changes;
        let level = changes.level.unwrap_or_default();
        let full = level.since.saturating_add(rule.time(level.level)).saturating_sub(now);
        let least = if given { HOUR.max(rule.window) } else { rule.window };
        changes.lasts = changes.lasts.max(least).max(full);
    }

    pub(super) fn forget(&mut self) {
        let level = Some(Level { level: 0, since: 0 });
        self.changes = Changes { level, forgets: true, ..Changes::default() };
    }

    /// The distance by which elapsed time moves its tick. None if there is no tick to move, or none that stays.
    pub(super) fn drip(&self) -> Option<Drip> {
        let changes = &self.changes;
        if changes.forgets || changes.unsettled || self.seen.counter == Kept::Foreign {
            return None;
        }
        let (canary, level) = (self.seen.tick()?, changes.level?);
        let drip = Drip { canary, moved: signed(level.since / 1000) - canary, drained: changes.drained };
        (drip.moved != 0 || drip.drained != 0).then_some(drip)
    }

    /// The difference to add to the counter. One that is below empty is first made empty.
    pub(super) fn due(&self) -> i64 {
        let changes = &self.changes;
        let missing = match self.seen.counter {
            Kept::Number(counter) if !changes.forgets && !changes.unsettled => (-counter).max(0),
            _ => 0,
        };
        if changes.charged == 0 { 0 } else { changes.charged + missing }
    }

    /// The tick to be set, in milliseconds.
    pub(super) fn since(&self) -> u64 {
        self.changes.level.map_or(0, |level| level.since / 1000)
    }
}

impl Changes {
    /// Nothing has to be written.
    pub(super) fn is_none(&self) -> bool {
        self.level.is_none()
    }

    /// Time to live of the keys, in whole seconds.
    pub(super) fn seconds(&self) -> u64 {
        self.lasts.div_ceil(SECOND).max(1)
    }
}

/// The effect of a drip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drip {
    /// The value that the tick must have; any other means that another process has dripped.
    pub(super) canary: i64,
    pub(super) moved: i64,
    pub(super) drained: i64,
}

fn difference(more: Level, less: Level) -> i64 {
    signed(more.level) - signed(less.level)
}

/// Far below 2^63 where it is exact.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
