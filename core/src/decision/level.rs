//! The level: whole units that drain at ticks. Bucket, token bucket and fixed window are this.

use super::numbers::{Numbers, Stored, Twin};
use super::{Algorithm, Drains};
use crate::limit::{LevelRule, real};
use crate::log_duration::LogDuration;
use crate::time::{EXACT, Micros};

/// The highest that a charge may take a level.
const HIGHEST_LEVEL: u64 = EXACT / 2;

/// Whole units of cost, and the instant at which there were so many. What has drained since, a rule says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) level: u64,
    pub(crate) since: Micros,
}

impl LevelRule {
    /// The instant at which ticks begin for an entry that is charged at `now`.
    fn start(&self, now: Micros) -> Micros {
        if self.aligned { now.saturating_sub(now % self.tick) } else { now }
    }

    #[inline]
    pub(super) fn ticks(&self, since: Micros, now: Micros) -> u64 {
        let elapsed = now.saturating_sub(since);
        if self.tick.get() == 1 { elapsed } else { elapsed / self.tick }
    }

    /// The rest at `now` of a state that has been brought there: the ticks of a group that is not over drain too.
    #[inline(always)]
    fn left(&self, state: &Level, now: Micros) -> u64 {
        if self.by_groups { state.level } else { self.left_in_group(state, now) }
    }

    #[inline(never)]
    fn left_in_group(&self, state: &Level, now: Micros) -> u64 {
        state.level.saturating_sub(self.drained(self.ticks(state.since, now)))
    }

    /// Until so many of the units have left.
    fn until_left(&self, state: &Level, now: Micros, units: u64) -> Micros {
        if units == 0 {
            return 0;
        }
        // The clock may be behind the entry; then the wait is longer by that much.
        state.since.saturating_add(self.time(units)).saturating_sub(now)
    }

    /// The repair of a state that another definition or another clock may have left.
    #[cold]
    fn mend(&self, state: &mut Level, now: Micros) -> bool {
        state.level = state.level.min(self.most);
        // Further ahead than it takes to drain: the clock was wrong then, and this entry is from now.
        let mended = state.since > now.saturating_add(self.window);
        if mended {
            state.since = self.start(now);
        }
        mended
    }

    /// Has the ticks of a state that has been brought to `now` count from then, where they count from a first charge.
    pub(crate) fn restart(&self, state: &mut Level, now: Micros) {
        if !self.aligned && state.since < now {
            *state = Level { level: self.left(state, now), since: now };
        }
    }

    /// [`next`](Algorithm::next) where it may be known when it is compiled how the level drains.
    #[inline(always)]
    pub(super) fn next_of(&self, by_groups: bool, state: &Level, now: Micros, remaining: u64) -> Micros {
        match remaining.checked_sub(self.quota) {
            // One more has left at the end of this group.
            None if by_groups && state.level <= self.quota => {
                state.since.saturating_add(self.group.get()).saturating_sub(now)
            }
            None => self.until(state, now, remaining.saturating_add(1)),
            Some(_) => 0,
        }
    }

    fn take(&self, state: &mut Level, now: Micros, units: u64) {
        state.level = if self.left(state, now) <= units { 0 } else { state.level.saturating_sub(units) };
    }
}

impl Twin for LevelRule {
    const KIND: u8 = 1;

    fn numbers(&self) -> [f64; 6] {
        let [tick, drain, ticks] = [self.tick, self.drain, self.ticks].map(|number| real(number.get()));
        let aligned = if self.aligned { 1.0 } else { 0.0 };
        [tick, drain, ticks, aligned, real(self.quota), real(self.most.min(EXACT))]
    }
}

impl Stored for Level {
    fn write(&self, numbers: &mut Vec<f64>) {
        numbers.extend([self.level, self.since].map(real));
    }

    fn read(numbers: &mut impl Numbers) -> Option<Self> {
        Some(Self { level: numbers.integer()?, since: numbers.integer()? })
    }
}

impl Algorithm for LevelRule {
    type State = Level;

    const RESERVES: bool = true;

    fn fresh(&self, now: Micros) -> Level {
        Level { level: 0, since: self.start(now) }
    }

    #[inline(always)]
    fn advance(&self, state: &mut Level, now: Micros) -> bool {
        // The difference is huge where the state is from the future.
        if now.wrapping_sub(state.since) < self.step.get() && (1..=self.most).contains(&state.level) {
            return false;
        }
        let mended = (state.since > now || state.level > self.most) && self.mend(state, now);
        let groups = now.saturating_sub(state.since) / self.group;
        let drained = groups.saturating_mul(self.drain.get());
        if drained >= state.level {
            *state = self.fresh(now);
        } else {
            state.level = state.level.saturating_sub(drained);
            state.since = state.since.saturating_add(groups.saturating_mul(self.group.get()));
            if !self.by_groups && self.left_in_group(state, now) == 0 {
                *state = self.fresh(now);
            }
        }
        mended
    }

    fn is_empty(&self, state: &Level, _now: Micros) -> bool {
        state.level == 0
    }

    fn charge(&self, state: &mut Level, _now: Micros, cost: u64) {
        state.level = state.level.saturating_add(cost);
    }

    fn give_back(&self, state: &mut Level, now: Micros, cost: u64) {
        self.take(state, now, cost);
    }

    fn undo(&self, state: &mut Level, now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        // What has left since the charge, of which it may have been the first to go.
        let until_now = self.drained(self.ticks(state.since, now));
        let drained = match state.since.checked_sub(charged_at) {
            None | Some(0) => until_now.saturating_sub(self.drained(self.ticks(state.since, charged_at))),
            Some(before) => until_now.saturating_add(self.drained_at_most(before.div_ceil(self.tick.get()))),
        };
        let units = cost.saturating_sub(spent).min(cost.saturating_sub(drained));
        if units > 0 {
            self.take(state, now, units);
        }
    }

    fn until(&self, state: &Level, now: Micros, cost: u64) -> Micros {
        let over = state.level.saturating_add(cost).saturating_sub(self.quota);
        self.until_left(state, now, over)
    }

    #[inline(always)]
    fn fits(&self, state: &Level, now: Micros, cost: u64) -> bool {
        self.left(state, now).saturating_add(cost) <= self.quota
    }

    fn bears(&self, state: &Level, cost: u64) -> bool {
        state.level.saturating_add(cost) <= self.most.min(HIGHEST_LEVEL)
    }

    #[inline(always)]
    fn remaining(&self, state: &Level, now: Micros) -> u64 {
        self.quota.saturating_sub(self.left(state, now))
    }

    fn full(&self, state: &Level, now: Micros) -> Micros {
        self.until_left(state, now, state.level)
    }

    #[inline(always)]
    fn next(&self, state: &Level, now: Micros, remaining: u64) -> Micros {
        self.next_of(self.by_groups, state, now, remaining)
    }

    #[inline(always)]
    fn drains(&self, state: &Level, _now: Micros) -> Drains {
        Drains { since: state.since, time: LogDuration::of(self.time(state.level)) }
    }

    fn quota(&self) -> u64 {
        self.quota
    }

    fn window(&self) -> Micros {
        self.window
    }

    fn window_ms(&self) -> u64 {
        self.window_ms
    }
}
