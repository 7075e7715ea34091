//! A level that drains at ticks.

use super::{Model, State, Time, up};

pub(crate) struct Cell {
    pub(crate) quota: i128,
    pub(crate) unit: i128,
    pub(crate) tick: Time,
    pub(crate) drain: i128,
    pub(crate) aligned: bool,
}

impl Cell {
    fn start(&self, now: Time) -> Time {
        if self.aligned { now / self.tick * self.tick } else { now }
    }

    fn capacity(&self) -> i128 {
        self.quota * self.unit
    }

    fn until_lower(&self, since: Time, now: Time, over: i128) -> Time {
        if over <= 0 { 0 } else { (self.tick * up(over, self.drain) - (now - since)).max(0) }
    }
}

impl Model for Cell {
    fn absent(&self, now: Time) -> State {
        State::Cell { level: 0, since: self.start(now) }
    }

    fn at(&self, state: &mut State, now: Time) -> bool {
        let State::Cell { level, since } = state else { unreachable!() };
        let mended = *since > now + self.tick * up((*level).max(self.capacity()), self.drain);
        if mended {
            *since = self.start(now);
        }
        let ticks = (now - *since).max(0) / self.tick;
        if ticks >= up(*level, self.drain) {
            (*level, *since) = (0, self.start(now));
        } else {
            *level -= ticks * self.drain;
            *since += ticks * self.tick;
        }
        mended
    }

    fn fits(&self, state: &State, _now: Time, cost: i128) -> bool {
        let State::Cell { level, .. } = state else { unreachable!() };
        level + cost * self.unit <= self.capacity()
    }

    fn charge(&self, state: &mut State, _now: Time, cost: i128) {
        let State::Cell { level, .. } = state else { unreachable!() };
        *level += cost * self.unit;
    }

    fn refund(&self, state: &mut State, _now: Time, cost: i128) {
        let State::Cell { level, .. } = state else { unreachable!() };
        *level = (*level - cost * self.unit).max(0);
    }

    fn until(&self, state: &State, now: Time, cost: i128) -> Time {
        let State::Cell { level, since } = state else { unreachable!() };
        self.until_lower(*since, now, level + cost * self.unit - self.capacity())
    }

    fn remaining(&self, state: &State, _now: Time) -> i128 {
        let State::Cell { level, .. } = state else { unreachable!() };
        (self.capacity() - level).max(0) / self.unit
    }

    fn full(&self, state: &State, now: Time) -> Time {
        let State::Cell { level, since } = state else { unreachable!() };
        self.until_lower(*since, now, *level)
    }

    fn is_empty(&self, state: &State, _now: Time) -> bool {
        matches!(state, State::Cell { level: 0, .. })
    }

    fn most(&self) -> i128 {
        self.quota
    }

    fn reserves(&self) -> bool {
        true
    }
}
