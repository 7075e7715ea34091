//! A level that drains at ticks: `drain` units in every `ticks` of them.

use super::{Model, State, Time, up};

pub(crate) struct Level {
    pub(crate) quota: i128,
    pub(crate) tick: Time,
    pub(crate) drain: i128,
    pub(crate) ticks: i128,
    pub(crate) aligned: bool,
}

impl Level {
    fn start(&self, now: Time) -> Time {
        if self.aligned { now / self.tick * self.tick } else { now }
    }

    /// `time(units)`.
    fn time(&self, units: i128) -> Time {
        self.tick * up(units * self.ticks, self.drain)
    }

    /// `n(now)`.
    fn passed(&self, since: Time, now: Time) -> i128 {
        (now - since).max(0) / self.tick
    }

    fn level(&self, state: &State, now: Time) -> i128 {
        let State::Level { level, since } = state else { unreachable!() };
        (level - self.passed(*since, now) * self.drain / self.ticks).max(0)
    }

    fn until_drained(&self, since: Time, now: Time, over: i128) -> Time {
        if over <= 0 { 0 } else { (self.time(over) - (now - since)).max(0) }
    }
}

impl Model for Level {
    fn absent(&self, now: Time) -> State {
        State::Level { level: 0, since: self.start(now) }
    }

    fn mended(&self, state: &State, now: Time) -> Option<State> {
        let State::Level { level, since } = state else { unreachable!() };
        let is_impossible = *since - now > self.time(self.quota);
        is_impossible.then(|| State::Level { level: *level, since: self.start(now) })
    }

    fn at(&self, state: &mut State, now: Time) {
        let longest = (1_i128 << 53) / self.tick * self.drain / self.ticks;
        let State::Level { level, since } = state else { unreachable!() };
        *level = (*level).min(longest);
        let groups = self.passed(*since, now) / self.ticks;
        if self.level(state, now) == 0 {
            *state = self.absent(now);
        } else if let State::Level { level, since } = state {
            *level -= groups * self.drain;
            *since += groups * self.ticks * self.tick;
        }
    }

    fn fits(&self, state: &State, now: Time, cost: i128) -> bool {
        self.level(state, now) + cost <= self.quota
    }

    fn charge(&self, state: &mut State, _now: Time, cost: i128) {
        let State::Level { level, .. } = state else { unreachable!() };
        *level += cost;
    }

    fn refund(&self, state: &mut State, now: Time, cost: i128) {
        if self.level(state, now) <= cost {
            *state = self.absent(now);
        } else if let State::Level { level, .. } = state {
            *level -= cost;
        }
    }

    fn until(&self, state: &State, now: Time, cost: i128) -> Time {
        let State::Level { level, since } = state else { unreachable!() };
        self.until_drained(*since, now, level + cost - self.quota)
    }

    fn remaining(&self, state: &State, now: Time) -> i128 {
        (self.quota - self.level(state, now)).max(0)
    }

    fn full(&self, state: &State, now: Time) -> Time {
        let State::Level { level, since } = state else { unreachable!() };
        self.until_drained(*since, now, *level)
    }

    fn is_empty(&self, state: &State, _now: Time) -> bool {
        matches!(state, State::Level { level: 0, .. })
    }

    fn most(&self) -> i128 {
        self.quota
    }

    fn reserves(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "level"
    }
}
