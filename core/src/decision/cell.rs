//! The cell: a level that drains at ticks. Bucket, token bucket and fixed window are this.

use super::{Drains, Room};
use crate::limit::Cell;
use crate::span::Span;
use crate::time::{EXACT, Micros};

/// The highest that a charge may take a level.
const HIGHEST_LEVEL: u64 = EXACT / 2;

/// How full a cell is, and the instant from which its ticks count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) level: u64,
    pub(crate) since: Micros,
}

impl Cell {
    /// Where ticks begin for a cell that is charged at `now`.
    fn start(&self, now: Micros) -> Micros {
        if self.aligned { now.saturating_sub(now % self.tick) } else { now }
    }

    fn weigh(&self, cost: u64) -> u64 {
        cost.saturating_mul(self.unit.get())
    }

    /// Until the level is `over` lower than it is.
    fn until_lower(&self, state: &Level, now: Micros, over: u64) -> Micros {
        if over == 0 {
            return 0;
        }
        // The clock may be behind the entry; then the wait is longer by that much.
        state.since.saturating_add(self.drain_time(over)).saturating_sub(now)
    }
}

impl Room for Cell {
    type State = Level;

    const RESERVES: bool = true;

    fn fresh(&self, now: Micros) -> Level {
        Level { level: 0, since: self.start(now) }
    }

    #[inline(always)]
    fn advance(&self, state: &mut Level, now: Micros) -> bool {
        let mut mended = false;
        if state.since > now {
            // Further ahead than it takes to drain: the clock was wrong then, and this entry is from now.
            let longest = self.drain_time(state.level.max(self.capacity));
            mended = state.since > now.saturating_add(longest);
            if mended {
                state.since = self.start(now);
            }
        }
        let elapsed = now.saturating_sub(state.since);
        if elapsed < self.tick.get() && state.level > 0 {
            return mended;
        }
        let ticks = elapsed / self.tick;
        let drained = ticks.saturating_mul(self.drain.get());
        if drained >= state.level {
            *state = self.fresh(now);
        } else {
            state.level = state.level.saturating_sub(drained);
            state.since = state.since.saturating_add(ticks.saturating_mul(self.tick.get()));
        }
        mended
    }

    fn is_empty(&self, state: &Level, _now: Micros) -> bool {
        state.level == 0
    }

    fn charge(&self, state: &mut Level, _now: Micros, cost: u64) {
        state.level = state.level.saturating_add(self.weigh(cost));
    }

    fn give_back(&self, state: &mut Level, _now: Micros, cost: u64) {
        state.level = state.level.saturating_sub(self.weigh(cost));
    }

    fn undo(&self, state: &mut Level, _now: Micros, cost: u64, spent: u64, charged_at: Micros) {
        // Of the ticks since the charge, all that have come have drained something; what was spent drains first.
        let ticks = state.since.saturating_sub(charged_at).div_ceil(self.tick.get());
        let left = self.weigh(cost).saturating_sub(ticks.saturating_mul(self.drain.get()));
        state.level = state.level.saturating_sub(left.min(self.weigh(cost.saturating_sub(spent))));
    }

    fn until(&self, state: &Level, now: Micros, cost: u64) -> Micros {
        let over = state.level.saturating_add(self.weigh(cost)).saturating_sub(self.capacity);
        self.until_lower(state, now, over)
    }

    fn fits(&self, state: &Level, _now: Micros, cost: u64) -> bool {
        state.level.saturating_add(self.weigh(cost)) <= self.capacity
    }

    fn bears(&self, state: &Level, cost: u64) -> bool {
        let level = state.level.saturating_add(self.weigh(cost));
        level <= self.capacity.max(HIGHEST_LEVEL) && self.drain_time(level) <= EXACT
    }

    fn remaining(&self, state: &Level, _now: Micros) -> u64 {
        let room = self.capacity.saturating_sub(state.level);
        if self.unit.get() == 1 { room } else { room / self.unit }
    }

    fn full(&self, state: &Level, now: Micros) -> Micros {
        self.until_lower(state, now, state.level)
    }

    #[inline(always)]
    fn next(&self, state: &Level, now: Micros, remaining: u64) -> Micros {
        match remaining.checked_sub(self.quota) {
            // A unit that weighs 1 fits as soon as one more has drained, which the next tick sees to.
            None if self.unit.get() == 1 && state.level <= self.capacity => {
                state.since.saturating_add(self.tick.get()).saturating_sub(now)
            }
            None => self.until(state, now, remaining.saturating_add(1)),
            Some(_) => 0,
        }
    }

    #[inline(always)]
    fn drains(&self, state: &Level, _now: Micros) -> Drains {
        let time = Span::of(self.drain_time(state.level));
        Drains { since: state.since, time, window: self.window_at(state.level, time) }
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
